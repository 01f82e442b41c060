# Runs of uvmsim for scripts that print tables, which source this file and set $uvmsim. Leaves the caller in a temporary folder.
# A run that fails ends the script: its message, exit status 1.
# shellcheck shell=sh
case $uvmsim in */*) uvmsim=$(cd "$(dirname "$uvmsim")" && pwd)/${uvmsim##*/} ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# run ARGUMENT...: the counts of a run, in a file for value
run() {
	if ! "$uvmsim" run --format json "$@" >json 2>errors; then
		cat errors >&2
		: >failed
		exit 1
	fi
	tr ',' '\n' <json | sed -n 's/.*"\([a-z0-9_]*\)": \([0-9][0-9]*\)}*$/\1 \2/p' >counts
}
value() { sed -n "s/^$1 //p" counts; }
# model NAME BASE KEY=VALUE...: a file of one's own
model() {
	file=$1
	echo "include = $2" >"$file"
	shift 2
	for key in "$@"; do echo "${key%%=*} = ${key#*=}" >>"$file"; done
}
