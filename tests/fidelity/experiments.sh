#!/bin/sh
# Experiments on published figures that the simulator misses: one suspected cause is changed, everything else stays. Prints the
# rows of the tables in docs/fidelity-experiments.md: experiment, change, figures in the order of the table's head.
# usage: experiments.sh UVMSIM [NAME ...]  without NAME all; experiments.sh list: the names
set -eu
here=$(cd "$(dirname "$0")" && pwd)
all=$(sed -n 's|^\([a-z]*_[a-z]*\)() {.*|\1|p' "$here"/experiments/*.sh)
usage() {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}
[ $# -gt 0 ] || usage
if [ "$1" = list ]; then
	echo "$all"
	exit
fi
uvmsim=$1
shift
# shellcheck disable=SC2086 # names
[ $# -gt 0 ] || set -- $all
for name in "$@"; do
	case " $(echo $all) " in
	*" $name "*) ;;
	*)
		echo "experiments.sh: no experiment \`$name'" >&2
		usage
		;;
	esac
done
. "$here/../machine/runs.sh"
# counted EXPRESSION: of awk, over v["KEY"]
counted() { awk "{v[\$1] = \$2} END {$1}" counts; }
# means ROW FORMAT: the means of the columns that come in
means() {
	awk -v row="$1" -v form="$2" '
		{for (i = 1; i <= NF; i++) sum[i] += $i}
		END {printf "%s", row; for (i = 1; i <= NF; i++) printf " " form " |", sum[i] / NR; print ""}'
}
for file in "$here"/experiments/*.sh; do
	# shellcheck source=/dev/null
	. "$file"
done
for name in "$@"; do $name; done
# a run that failed in a pipeline
[ ! -f failed ]
