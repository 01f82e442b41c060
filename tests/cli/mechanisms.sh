#!/bin/sh
# tests/fidelity/mechanisms.sh counts the rows inside with a key and without it: four rows of a small program.
# usage: mechanisms.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"
mkdir "$work/fidelity"
cp tests/fidelity/*.* "$work/fidelity"
cat >"$work/fidelity/rows.txt" <<'E'
## UVM Smart artifact: its simulator
run shipped run --gpu uvmsmart --workload regular:bytes=1m,passes=1 --policy preset=uvmsmart
run free run --gpu uvmsmart:block_ns=0 --workload regular:bytes=1m,passes=1 --policy preset=uvmsmart
run single run --gpu uvmsmart:sms=1 --workload regular:bytes=1m,passes=1 --policy preset=uvmsmart
row fault | a far fault takes time | 1 | ordering | 0 | time_ns(shipped)>time_ns(free)
row sms | one SM takes another time | 1 | ordering | 0 | time_ns(shipped)!=time_ns(single)
row all | every page is migrated | 256 | pages | 0 | pages_migrated(shipped)
row more | and one more, which misses | 257 | pages | 0 | pages_migrated(shipped)
## Another source
row other | the same row elsewhere, which does not count | 256 | pages | 0 | pages_migrated(shipped)
E
printf '%s\n' ' block_ns | 3 of 4 | 2 of 4 ' ' walk_ns | 3 of 4 | 3 of 4 ' ' sms | 3 of 4 | 2 of 4 ' >"$work/want"
mechanisms() { sh "$work/fidelity/mechanisms.sh" "$uvmsim" "$@"; }
counts() {
	mechanisms block_ns=0 walk_ns=68 sms=1 >"$work/table" && cut -d '|' -f 2,4,5 "$work/table" | diff "$work/want" - &&
		grep '^| block_ns | configuration: ' "$work/table"
}
check 'the rows inside with each key and without it' counts
refuses() { # TEXT KEY=VALUE...: exit status 2, and this one line
	text=$1
	shift
	status=0
	mechanisms "$@" >"$work/table" 2>"$work/err" || status=$?
	cat "$work/err"
	[ $status = 2 ] && [ "$(cat "$work/table" "$work/err")" = "$text" ]
}
check 'an unknown key is refused' refuses "mechanisms.sh: uvmsmart has no key \`block'" block_ns=0 block=0
check 'a key without a value is refused' refuses "$(sed -n 's/^# usage: /usage: /p' tests/fidelity/mechanisms.sh)" block_ns
exit $failed
