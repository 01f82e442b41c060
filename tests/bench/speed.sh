#!/bin/sh
# How fast uvmsim is: accesses and serviced faults a second of one core's time, wall time and memory of whole runs, and
# instructions per access and fault, which are the same figures on every run of the same binary. Times are those of the whole
# program, start and end included, and depend on what else the machine does: figures to look at, never a test. Serviced faults
# are far faults (faulted pages of 4 KiB that had to be made resident).
# The instructions also go into BUILD/bench.csv, behind those of bench.sh, for regression.sh.
# usage: speed.sh BUILD [instructions]: only those. BENCH_REPEATS (default 3) may be set.
set -eu
build=$1
repeats=${BENCH_REPEATS:-3}
uvmsim=$build/uvmsim
json=$build/speed.json
out=$build/callgrind.out
costs=$build/costs
trap 'rm -f "$json" "$out" "$costs"' EXIT

value() { sed -n 's/.*"'"$1"'": \([0-9]*\).*/\1/p' "$json"; }

# spread UNIT SCALE TEXT: least, median and greatest of the numbers on standard input, each divided by SCALE.
spread()
{
	sort -n | awk -v unit="$1" -v scale="$2" -v text="$3" '{v[NR] = $1 / scale}
		END {printf "%-9s %9.2f %9.2f %9.2f   %s\n", unit, v[1], v[int((NR + 1) / 2)], v[NR], text}'
}

# run COMMAND...: uvmsim into $json; its wall and CPU time in microseconds, and KiB.
run()
{
	"$build/bench" measure "$json" "$uvmsim" "$@" --format json || { echo "uvmsim $* failed" >&2; exit 1; }
}

# rate KEY TEXT COMMAND...: millions of what KEY counts, a second of CPU time.
rate()
{
	key=$1 text=$2
	shift 2
	i=0
	while [ $((i += 1)) -le "$repeats" ]; do
		figures=$(run "$@")
		figures=${figures#* }
		echo $(($(value "$key") * 1000000 / ${figures% *}))
	done | spread M/s 1000000 "$text: $*"
}

# whole COMMAND...: wall time of a run, and what it held in memory.
whole()
{
	i=0
	while [ $((i += 1)) -le "$repeats" ]; do run "$@"; done >"$out"
	cut -d ' ' -f 1 "$out" | spread s 1000000 "whole run: $*"
	cut -d ' ' -f 3 "$out" | spread MB 976.5625 'peak memory of that'
	cut -d ' ' -f 3 "$out" | spread B/page $(($(value footprint_bytes) / 4096 / 1024)) 'the same per managed page of 4 KiB'
}

# instructions SEED COMMAND...: of a run, and what KEY counts in it.
instructions()
{
	valgrind --tool=callgrind --callgrind-out-file="$out" "$uvmsim" "$@" --format json >"$json" 2>/dev/null ||
		{ echo "uvmsim $* failed" >&2; exit 1; }
	echo "$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' "$out") $(value "$key")"
}

# cost NAME KEY TEXT SMALL LARGE COMMAND...: instructions per unit, by the difference of two workloads; seeds 1 to 3.
cost()
{
	name=$1 key=$2 text=$3 small=$4 large=$5
	shift 5
	for seed in 1 2 3; do
		echo "$(instructions run --seed "$seed" --workload "$small" "$@") $(instructions run --seed "$seed" --workload "$large" "$@")"
	done | awk '{print ($3 - $1) / ($4 - $2)}' | sort -n >"$costs"
	spread instr. 1 "$text: --workload $large $*" <"$costs"
	sed -n 2p "$costs" | awk -v compiler="$(cc --version | head -n 1 | tr , ' ')" -v name="$name" \
		'{printf "%s,%s,%d\n", compiler, name, $1 + 0.5}' >>"$build/bench.csv"
}

none='prefetch=none'
rates()
{
	cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
	echo "uvmsim on one core: $repeats runs each, seed 1, on $(uname -m) ${cpu:-of unknown make}, load $(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo unknown)"
	printf '%-9s %9s %9s %9s   %s\n' unit min median max what
	rate accesses 'accesses, resident' run --workload regular:bytes=1g,passes=400 --memory 2G
	rate accesses 'accesses, resident, random' run --workload random:bytes=256m,passes=200 --memory 1G
	rate accesses 'accesses, resident, with time' run --workload regular:bytes=1g,passes=100 --memory 2G --gpu titan-v
	rate far_faults 'faults' run --workload regular:bytes=16g,passes=1 --memory 20G --policy "$none"
	rate far_faults 'faults, random' run --workload random:bytes=4g,passes=1 --memory 6G --policy "$none"
	rate far_faults 'faults, with prefetching' run --workload regular:bytes=64g,passes=1 --memory 80G
	rate far_faults 'faults, evicting' run --workload regular:bytes=16g,passes=1 --memory 8G --policy "$none"
	rate far_faults 'faults, random, evicting' run --workload random:bytes=1g,passes=1 --memory 820M
	rate far_faults 'faults, with time' run --workload regular:bytes=4g,passes=1 --memory 6G --policy "$none" --gpu titan-v
	rate accesses 'accesses' bound --workload regular:bytes=1g,passes=100 --memory 512M
	rate accesses 'accesses, random' bound --workload random:bytes=1g,passes=20 --memory 512M
	whole run --workload regular:bytes=32g --memory 12G
	whole run --workload regular:bytes=32g --memory 12G --gpu titan-v
	"$build/bench" state | spread B/page 1000 "the same, computed: the engine's state with all blocks touched, and the simulator's"
}

[ "${2:-all}" = instructions ] || rates
if command -v valgrind >/dev/null 2>&1; then
	printf '%-9s %9s %9s %9s   %s\n' unit min median max 'what, seeds 1 to 3'
	cost access accesses 'access, resident' regular:bytes=8m,passes=10 regular:bytes=8m,passes=60 --memory 64M
	cost access-random accesses 'access, resident, random' random:bytes=8m,passes=10 random:bytes=8m,passes=60 --memory 64M
	cost fault far_faults 'fault' regular:bytes=8m,passes=1 regular:bytes=40m,passes=1 --memory 64M --policy "$none"
	cost fault-random far_faults 'fault, random' random:bytes=8m,passes=1 random:bytes=24m,passes=1 --memory 64M --policy "$none"
	cost fault-prefetch far_faults 'fault, with prefetching' regular:bytes=16m,passes=1 regular:bytes=256m,passes=1 --memory 512M
fi
