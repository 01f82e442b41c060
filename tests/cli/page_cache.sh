#!/bin/sh
# Runs that may be simulated as a cache of pages (adapters/simulator/page_cache.c): reports and errors are those of the engine,
# which makes every run with a decision log.
# usage: page_cache.sh UVMSIM
set -u
case $1 in /*) uvmsim=$1 ;; *) uvmsim=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d "$(dirname "$uvmsim")/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset UVMP_POLICY
failed=0

# trace BEHIND: 3,000 reads of 1,024 pages by one agent; further rows from row 1,500 on and at the end
trace()
{
	awk -v behind="$1" 'BEGIN {
		print "uvmp-trace 1"; print "range,0x200000000,4194304"
		for (i = 0; i < 3000; i++) {
			x = (x * 1103 + 12345) % 65536
			printf ",0,r,0x200%03x000\n", i % 3 ? x % 200 : x % 1024
			if (i == 1500 || i == 2999) printf "%s", behind
		}}'
}

# same NAME POLICY BEHIND: with and without a log
same()
{
	trace "$3" >"$work/t.trace"
	rm -f "$work/log" # a run that fails would leave that of the run before
	"$uvmsim" run --trace "$work/t.trace" --memory 2M --policy "$2" --format json >"$work/out" 2>"$work/err"
	status=$?
	"$uvmsim" run --trace "$work/t.trace" --memory 2M --policy "$2" --format json --log "$work/log" >"$work/out.log" 2>"$work/err.log"
	if [ $status = $? ] && cmp -s "$work/out" "$work/out.log" && cmp -s "$work/err" "$work/err.log" && [ -s "$work/log" ]; then
		echo "ok   $1"
	else
		failed=1
		echo "FAIL $1: the report differs from that of the engine"
	fi
}

lru='prefetch=none evict=lru4k'
same 'LRU' "$lru" ''
same 'LRU, kernels' "$lru" 'kernel,k
sync
'
same 'LRU with a reserve' "$lru reserve=30" ''
same 'random' 'prefetch=none evict=random4k' ''
same 'prefetching' 'prefetch=density evict=lru4k' ''
same 'a second agent' "$lru" ',1,r,0x200000000
'
same 'the CPU' "$lru" ',cpu,w,0x200000000
'
same 'a new range' "$lru" 'range,0x300000000,4096,,fresh
'
same 'an address outside' "$lru" ',0,r,0x300000000
'
same 'a bad row' "$lru" 'nonsense
'

# Standard input and pipes are read once.
trace '' >"$work/t.trace"
for name in - /dev/stdin; do
	trace '' | "$uvmsim" run --trace $name --memory 2M --policy "$lru" | sed 1d >"$work/out"
	if "$uvmsim" run --trace "$work/t.trace" --memory 2M --policy "$lru" | sed 1d | cmp -s - "$work/out" &&
		[ -s "$work/out" ]; then
		echo "ok   $name"
	else
		failed=1
		echo "FAIL $name: the report differs from that of a file"
	fi
done
exit $failed
