#!/bin/sh
# The pager's decisions are the simulator's: real faults are serviced and recorded, and the simulator, given the trace, writes
# the same decision log, byte for byte. usage: pager_decisions.sh BUILD (with uvmp-run, libuvmp-preload.so and uvmsim)
set -u
build=$(cd "$1" && pwd)
walk=$(cd "$(dirname "$0")" && pwd)/pager_walk.c
run=$build/uvmp-run sim=$build/uvmsim
far=
limit='timeout -k 5 120' # what hangs fails
work=$(mktemp -d "$build/decisions.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

${CC:-cc} -O1 -o "$work/walk" "$walk" -lpthread || exit 1
$limit "$run" --budget 8M --quiet -- "$work/walk" 2>"$work/err"
if grep -q 'without a pager' "$work/err"; then
	echo "skipped: no userfaultfd for this process: $(grep 'without a pager' "$work/err")"
	exit 0
fi
trace=$work/trace.csv
: | "$run" --budget 8M --quiet --record "$work/t.zst" -- true 2>/dev/null && trace=$work/trace.csv.zst

# equal THREADS POLICY LEAST [OPTION...]: the two logs are the same, and hold at least so many actions; LEAST 0: any number
equal() {
	threads=$1 policy=$2 least=$3
	shift 3
	name="$policy, $threads threads${*:+, $*}"
	if ! $limit "$run" --budget 8M --quiet --policy "$policy" --log "$work/a" --record "$trace" "$@" -- "$work/walk" "$threads" ||
		! $limit "$sim" run --trace "$trace" --memory 8M --policy "$policy${far:+ $far}" --log "$work/b" >"$work/out" 2>"$work/err"; then
		failed=1
		echo "FAIL $name: $(cat "$work/err")"
	elif cmp -s "$work/a" "$work/b" && [ "$(wc -l <"$work/a")" -ge "$least" ]; then
		echo "ok   $name: $(wc -l <"$work/a") actions"
	else
		failed=1
		echo "FAIL $name: $(cmp "$work/a" "$work/b" 2>&1), $(wc -l <"$work/a") and $(wc -l <"$work/b") actions"
	fi
}
# remote access, which the simulator has and the pager has not; and the cost of a fault, which differs
far='remote=off auto_fault=5'
equal 4 preset=auto 10000
far=
for policy in 'preset=auto remote=off auto_fault=5' prefetch=density 'prefetch=none evict=lru4k' preset=uvmsmart-tbn \
	preset=beyond-block 'replay=block batch=1' 'preset=nvidia-once batch=4' preset=access-lfu preset=cppe \
	'prefetch=random evict=random4k'; do
	equal 1 "$policy" 10000
	equal 4 "$policy" 10000
done
for policy in 'prefetch=none evict=lru4k' preset=access-lfu preset=second-chance; do
	equal 4 "$policy" 10000 --sample 512
done
cd "$work" || exit 1
for store in zstd map file:.; do
	"$run" --budget 8M --quiet --store $store -- true 2>/dev/null && equal 4 prefetch=density 10000 --store $store
done
equal 8 prefetch=density 10000 --threads 2

# heads BUDGET [POLICY]: the command in the head of the recording gives its log, and no note about another policy or memory
heads() {
	name="the command of the head, budget $1, ${2:-default policy}"
	rm -f "$work/b"
	$limit "$run" --budget "$1" --quiet ${2:+--policy "$2"} --log "$work/a" --record "$work/h.csv" -- "$work/walk" 4 2>"$work/err"
	command=$(sed -n 's/^# uvmsim \(run .*\)/\1/p' "$work/h.csv")
	if sh -c "$limit '$sim' $command --trace '$work/h.csv' --log '$work/b'" >"$work/out" 2>>"$work/err" &&
		cmp -s "$work/a" "$work/b" && [ "$(wc -l <"$work/a")" -ge 1000 ] && ! grep -q 'recorded with' "$work/err"; then
		echo "ok   $name: $(wc -l <"$work/a") actions"
	else
		failed=1
		echo "FAIL $name: $command: $(cmp "$work/a" "$work/b" 2>&1) $(head -n 3 "$work/err")"
	fi
}
heads 8M
heads 9M
for policy in 'preset=auto auto_fault=7' preset=uvmsmart-pinned preset=uvmsmart-always \
	'counters=on map_on_eviction=1' preset=etc; do
	heads 8M "$policy"
done

# sampling sees what faults do not: a program that stays within its budget
$limit "$run" --budget 64M --quiet --sample 256 --record "$work/s.csv" -- python3 -c '
import sys
a = bytearray(16 << 20)
for r in range(300):
    for i in range(0, len(a), 4096): a[i] = r & 255
print(sum(a[::4096]))' >"$work/sum" 2>"$work/err"
$limit "$run" --budget 64M --quiet --record "$work/f.csv" -- python3 -c 'a = bytearray(16 << 20)
for i in range(0, len(a), 4096): a[i] = 1' 2>"$work/err"
if [ "$(cat "$work/sum")" = $((4096 * (299 & 255))) ] &&
	[ "$(grep -c ,w, "$work/s.csv")" -gt $(($(grep -c ,w, "$work/f.csv") + 200)) ]; then
	echo "ok   sampling: $(grep -c ,w, "$work/s.csv") rows, where faults alone are $(grep -c ,w, "$work/f.csv")"
else
	failed=1
	echo "FAIL sampling: sum $(cat "$work/sum"), rows $(grep -c ,w, "$work/s.csv") and $(grep -c ,w, "$work/f.csv")"
fi
exit $failed
