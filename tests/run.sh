#!/bin/sh
# What `make run` shows. usage: run.sh UVMSIM
set -eu
uvmsim=$1
data=tests/data/gtx1080ti.txt

cat <<'T'
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

T
"$uvmsim" compare --oversub 100 --oversub 125 \
	--workload regular --workload random --workload sgemm --workload stream --workload stencil --workload bfs \
	--policy prefetch=none --policy prefetch=sl --policy prefetch=density --policy prefetch=tbn
echo
echo "More: $uvmsim --help"
