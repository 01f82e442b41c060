#!/bin/sh
# How fast uvmsim is: rows of the bench's table (row.sh). Instructions per access and fault are the difference of two runs, so
# start and end of the program are left out: the median of the seeds 1 to 3, the same figures on every run of the same binary.
# Rates are those of one core's time over the whole program, the best of BENCH_REPEATS runs (default 3) with seed 1; they depend
# on the machine. Serviced faults are far faults: faulted pages of 4 KiB that were not resident.
# usage: speed.sh BUILD [instructions]: only those
set -eu
build=$1
repeats=${BENCH_REPEATS:-3}
uvmsim=$build/uvmsim
json=$build/speed.json
out=$build/callgrind.out
trap 'rm -f "$json" "$json".* "$out" "$out".*' EXIT
. "$(dirname "$0")/row.sh"

value() { sed -n 's/.*"'"$1"'": \([0-9]*\).*/\1/p' "$json"; }

# run COMMAND...: uvmsim into $json; its wall and CPU time in microseconds, and KiB.
run()
{
	"$build/bench" measure "$json" "$uvmsim" "$@" --format json || { echo "uvmsim $* failed" >&2; exit 1; }
}

# rate NAME BUDGET KEY TEXT COMMAND...: millions of KEY per second of CPU time.
rate()
{
	name=$1 budget=$2 key=$3 text=$4
	shift 4
	i=0
	while [ $((i += 1)) -le "$repeats" ]; do
		figures=$(run "$@")
		figures=${figures#* }
		echo "$(value "$key") ${figures% *}"
	done | awk '{rate = $1 / $2; if (rate > best) best = rate} END {printf "%.2f\n", best}' >"$out.rate"
	row "$name" - "$budget" "$(cat "$out.rate")" - "M/s" "$text: $*"
}

# whole NAME COMMAND...: wall time of a run, and the memory that it held.
whole()
{
	name=$1
	shift
	i=0
	while [ $((i += 1)) -le "$repeats" ]; do run "$@"; done | sort -n | head -n 1 >"$out.whole"
	read -r wall _ kib <"$out.whole"
	row "$name" - - "$(awk -v us="$wall" 'BEGIN {printf "%.2f", us / 1e6}')" - s "whole run: $*"
	row "$name-memory" - - "$(awk -v kib="$kib" 'BEGIN {printf "%.1f", kib / 976.5625}')" - MB 'peak memory of that run'
	row "$name-page" - - \
		"$(awk -v kib="$kib" -v bytes="$(value footprint_bytes)" 'BEGIN {printf "%.2f", kib * 1024 / (bytes / 4096)}')" \
		- 'B/page' 'the same per managed page of 4 KiB'
}

# instructions FILE KEY COMMAND...: into the file, those of a run and what KEY counts in it.
instructions()
{
	file=$1 key=$2
	shift 2
	valgrind --tool=callgrind --callgrind-out-file="$file.callgrind" "$uvmsim" "$@" --format json >"$file.json" 2>/dev/null ||
		{ echo "uvmsim $* failed" >&2; exit 1; }
	json=$file.json
	echo "$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' "$file.callgrind") $(value "$key")" >"$file"
}

# cost NAME BUDGET KEY UNIT TEXT SMALL LARGE COMMAND...: instructions per unit, by the difference of two workloads.
cost()
{
	name=$1 budget=$2 key=$3 unit=$4 text=$5 small=$6 large=$7
	shift 7
	for seed in 1 2 3; do
		(instructions "$out.small" "$key" run --seed "$seed" --workload "$small" "$@") &
		(instructions "$out.large" "$key" run --seed "$seed" --workload "$large" "$@")
		wait $!
		echo "$(cat "$out.small") $(cat "$out.large")"
	done | awk '{print int(($3 - $1) / ($4 - $2) + 0.5)}' | sort -n | sed -n 2p >"$out.cost"
	row "$name" - "$budget" "$(cat "$out.cost")" - "instructions/$unit" "$text: run --workload $large $*"
}

none='prefetch=none'
costs()
{
	cost access - accesses access 'access; resident' regular:bytes=8m,passes=10 regular:bytes=8m,passes=60 --memory 64M
	cost access-random - accesses access 'access; resident; random' random:bytes=8m,passes=10 random:bytes=8m,passes=60 --memory 64M
	cost fault - far_faults fault 'fault' regular:bytes=8m,passes=1 regular:bytes=40m,passes=1 --memory 64M --policy "$none"
	cost fault-random - far_faults fault 'fault; random' random:bytes=8m,passes=1 random:bytes=24m,passes=1 --memory 64M \
		--policy "$none"
	cost fault-prefetch - far_faults fault 'fault; with prefetching' regular:bytes=16m,passes=1 regular:bytes=256m,passes=1 \
		--memory 512M
}

rates()
{
	rate rate-access 100 accesses 'accesses; resident' run --workload regular:bytes=1g,passes=400 --memory 2G
	rate rate-access-random 30 accesses 'accesses; resident; random' run --workload random:bytes=256m,passes=200 --memory 1G
	rate rate-access-gpu 100 accesses 'accesses; resident; with time' run --workload regular:bytes=1g,passes=100 --memory 2G \
		--gpu titan-v
	rate rate-access-gpu-random 30 accesses 'accesses; resident; random; with time' run --workload random:bytes=256m,passes=200 \
		--memory 1G --gpu titan-v
	rate rate-fault 1 far_faults 'faults' run --workload regular:bytes=16g,passes=1 --memory 20G --policy "$none"
	rate rate-fault-random 1 far_faults 'faults; random' run --workload random:bytes=4g,passes=1 --memory 6G --policy "$none"
	rate rate-fault-64g 1 far_faults 'faults; random; 64 GiB' run --workload random:bytes=64g,passes=1 --memory 80G --policy "$none"
	rate rate-fault-prefetch 1 far_faults 'faults; with prefetching' run --workload regular:bytes=64g,passes=1 --memory 80G
	rate rate-fault-evict 1 far_faults 'faults; evicting' run --workload regular:bytes=16g,passes=1 --memory 8G --policy "$none"
	rate rate-fault-random-evict 1 far_faults 'faults; random; evicting' run --workload random:bytes=1g,passes=1 --memory 820M
	rate rate-fault-gpu 0.5 far_faults 'faults; with time' run --workload regular:bytes=4g,passes=1 --memory 6G --policy "$none" \
		--gpu titan-v
	rate rate-fault-gpu-evict 0.5 far_faults 'faults; with time; evicting' run --workload regular:bytes=2g,passes=1 --memory 1G \
		--policy "$none" --gpu titan-v
	rate rate-fault-gpu-random 0.5 far_faults 'faults; random; with time' run --workload random:bytes=1g,passes=1 --memory 2G \
		--policy "$none" --gpu titan-v
	rate rate-fault-gpu-random-evict 0.5 far_faults 'faults; random; with time; evicting' run --workload random:bytes=1g,passes=1 \
		--memory 820M --policy "$none" --gpu titan-v
	rate rate-bound - accesses 'accesses' bound --workload regular:bytes=1g,passes=100 --memory 512M
	rate rate-bound-random - accesses 'accesses; random' bound --workload random:bytes=1g,passes=20 --memory 512M
	whole run-32g run --workload regular:bytes=32g --memory 12G
	whole run-32g-gpu run --workload regular:bytes=32g --memory 12G --gpu titan-v
	row state-32g - - "$("$build/bench" state | awk '{printf "%.2f", $1 / 1000}')" - B/page \
		'computed: state of the engine with all blocks touched and of the simulator'
}

costs
[ "${2:-all}" = instructions ] || rates
