#!/bin/sh
# What `make run` shows. usage: run.sh UVMSIM
set -eu
uvmsim=$1
data=tests/data/gtx1080ti.txt

cat <<'T'
libuvmpolicy takes the decisions of a GPU's unified-memory driver: which pages come when one is missing, and which leave when memory
is full. First it is held against a real driver; then you see what these decisions cost, and that none is right for every program.

1. Real faults against the library
   Three micro-benchmarks on a GTX 1080 Ti touch 64 KiB pieces of one 2 MiB block; the profiler shows what the driver moved for
   each fault. The library gets the same faults and decides by itself.

T
"$uvmsim" measured "$data"
echo
echo "   The same with a wrong threshold must miss (the driver's default is 51 %):"
for threshold in 49 57; do
	printf '   threshold=%s: ' "$threshold"
	"$uvmsim" measured --brief "$data" --policy "prefetch=density threshold=$threshold" || [ $? = 1 ]
done

cat <<'T'

2. Which prefetcher, when everything fits and when it does not?
   Built-in programs through fault buffer, batches, prefetcher and LRU eviction. Less is better; * marks the least.
   In: moved to the GPU. Refaults: pages faulted again after they were evicted. Unused: prefetched for nothing.

T
compare() {
	"$uvmsim" compare --oversub 100 --oversub 125 \
		--workload regular --workload random --workload sgemm --workload stream --workload stencil --workload bfs \
		--policy prefetch=none --policy prefetch=sl --policy prefetch=density --policy prefetch=tbn "$@"
}
compare

cat <<'T'

3. And how long it takes
   The same with time: a Titan V on PCIe 3, its fault buffer, the driver's thread, the link. Every page of 128 MiB is touched once, in
   order or at random. Read the last column: fetching more with each fault wins by far with room, and mostly without: what a fault
   costs is more than what the pages cost that are fetched in vain.

T
timed=$("$uvmsim" compare --gpu titan-v --oversub 100 --oversub 125 \
	--workload regular:bytes=128m,passes=1 --workload random:bytes=128m,passes=1 \
	--policy prefetch=none --policy prefetch=density --policy threshold=1)
printf '%s\n' "$timed"

cat <<'T'

4. A real program
   SQLite builds an index, recorded by uvmp-run: the faults of an unmodified program in less memory than it asks for (the pager,
   adapters/userspace; tests/data/traces has more programs). Given the trace, every policy can be tried on it. Read faults against MiB in:
   fetching ahead saves almost all faults. With 8 MiB it moves hardly more for that, or less; with 4 MiB the driver's density prefetcher
   moves several times as much, and evicting single pages (lru4k) moves least.

T
"$uvmsim" compare --trace tests/data/traces/sqlite.csv --memory 8M --memory 4M \
	--policy prefetch=none --policy 'prefetch=none evict=lru4k' --policy prefetch=density --policy preset=uvmsmart-tbn

cat <<'T'

5. What you have just seen

T
printf '   A library that takes the decisions of a GPU driver for memory shared with the CPU, for your simulator, driver or runtime.\n'
printf '   Asked again about faults that a real GTX 1080 Ti raised (part 1), it decides as the driver did then: '
"$uvmsim" measured --brief "$data" | sed 's/ (default policy)//'
cat <<'T'
   Why that matters: what is fetched ahead decides how fast a program is. The same code on six programs, the driver's way against none:

T
# Figures from the same runs as above, as CSV; workload and policy are quoted and hold commas.
compare --format csv | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{
		match($0, /^"[a-z]+/); name = substr($0, 2, RLENGTH - 1)
		match($0, /prefetch=[a-z]+/); prefetch = substr($0, RSTART + 9, RLENGTH - 9)
		gsub(/"[^"]*"/, "")
		if (prefetch == "none" && !seen[name]++) names[++count] = name
		key = name SUBSEP prefetch; full = ++runs[key]
		faults[key, full] = $column["far_faults"]
		moved[key, full] = $column["h2d_bytes"] + $column["d2h_bytes"]
	}
	END {
		printf "   %-10s %27s %27s\n", "", "everything fits", "a fifth does not fit"
		printf "   %-10s %14s %12s %14s %12s\n", "program", "faults saved", "data moved", "faults saved", "data moved"
		for (n = 1; n <= count; n++) {
			printf "   %-10s", names[n]
			for (full = 1; full <= 2; full++) {
				d = names[n] SUBSEP "density"; z = names[n] SUBSEP "none"
				printf " %12.1f %% %10.1f x", 100 * (1 - faults[d, full] / faults[z, full]), moved[d, full] / moved[z, full]
			}
			printf "\n"
		}
	}'
# The last table of part 3 is that of random order and 125 %.
printf '%s\n' "$timed" | awk '
	$1 == "prefetch=none" { none = $NF + 0 }
	$1 == "prefetch=density" { density = $NF + 0 }
	END { printf "\n   With room, fetching ahead saves nearly every fault and moves nothing more. Without, it moves many times as much for programs\n   that reach here and there, and can win all the same: random took %.0f ms without and %.0f with it (part 3), as a fault costs\n   the GPU tens of microseconds. No fixed choice is right for all. Which one is for yours?\n", none, density }'
cat <<T

   build/uvmp-run --budget 64M --record t.csv -- PROGRAM        (make all) your program in 64 MiB, its faults recorded
   build/uvmsim compare --trace t.csv --memory 64M --policy all    every policy on them
   $uvmsim --help, README.md
T
