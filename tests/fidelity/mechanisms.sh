#!/bin/sh
# Prints, for each mechanism of UVM Smart's simulator, how many of its rows are inside with the key and without it: the rows of
# the table in docs/machine.md. The model without is the shipped one with this key set to the value of the list.
# usage: mechanisms.sh UVMSIM [KEY=VALUE ...]  without KEY=VALUE: all of the list
# Environment: FIDELITY_JOBS, FIDELITY_LIMIT as of fidelity.sh. Exit status: 2 if uvmsmart has no such key.
set -eu
usage() {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}
[ $# -gt 0 ] || usage
model=adapters/simulator/models/uvmsmart.gpu
here=$(dirname "$0")
uvmsim=$1
shift
[ $# -gt 0 ] || set -- data_on_cpu=0 rounds_ranges=0 remote_miss_ns=0 sync_frees=0 keeps_faults=0 queues_copies=0
for change in "$@"; do
	case $change in *=*) ;; *) usage ;; esac
	grep -q "^${change%%=*} *=" "$model" || {
		echo "mechanisms.sh: uvmsmart has no key \`${change%%=*}'" >&2
		exit 2
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/fidelity" "$work/models" "$work/build"
cp "$here"/*.* "$work/fidelity"
cp adapters/simulator/models/* "$work/models"
# Each run takes its model from the copies, since it names a key. The title decides nothing.
sed 's/--gpu uvmsmart /--gpu uvmsmart:title=uvmsmart /' "$here/rows.txt" >"$work/fidelity/rows.txt"
sed "s|\"adapters/simulator/models/|\"$work/models/|" "$here/fidelity.sh" >"$work/fidelity/fidelity.sh"
rates() { # prints INSIDE OF ROWS
	FIDELITY_ACCEPT=1 FIDELITY_REUSE='' sh "$work/fidelity/fidelity.sh" "$uvmsim" "$work/build" 'UVM Smart artifact: its simulator' \
		>"$work/out" 2>&1 || :
	awk '/[|] inside [|]$/ {inside++} /[|] [*][*]misses[*][*] [|]$/ {misses++} END {print inside " of " inside + misses}' "$work/out"
}
with=$(rates)
for change in "$@"; do
	key=${change%%=*}
	sed "s|^$key *=.*|$key = ${change#*=}|" "$model" >"$work/models/uvmsmart.gpu"
	source=$(sed -n "s|^$key *=.*# *||p" "$model")
	echo "| $key | $source | $with | $(rates) |"
done
