#!/bin/sh
# What `make run` shows: one screen of 80 columns, computed by this run. V=1 adds the details.
# Exit status: 0 if the library agrees with all recorded faults and a wrong threshold does not, else 1 or more.
# usage: [V=1] run.sh UVMSIM
set -eu
uvmsim=$1
here=$(dirname "$0")
data=$here/data/gtx1080ti.txt
unset UVMP_POLICY # the screen shows the defaults of the library
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# The rows of `uvmsim measured` in 80 columns: page, block, pages that the driver and the library move, verdict.
rows='
/^get/ { sub(/getHWPrefetcher/, "micro-benchmark "); sub(/;.*/, ""); title = $0; next }
$2 ~ /^[.#Fp]+$/ && length($2) == 32 {
	if (title != "") { print (shown++ ? "\n   " : "   ") title; title = "" }
	driver = $3
	for (i = 4; i < NF && $i !~ /^[0-9]+$/; i++) ; # behind the copies or "next fault at N" of the driver
	if ($4 == "next") i++
	for (; i < NF && $i !~ /^[0-9]+$/; i++) ;
	printf "   %4d  %s %5d pages %5d pages  %s\n", $1, $2, driver, $i, $NF
}
$1 ~ /^[.#Fp]+$/ && length($1) == 32 { printf "         %s   as the library decides\n", $1 }'

cat <<'T'
libuvmpolicy is a C library of the decisions that a GPU's unified-memory driver
takes: which pages move on a page fault, and which leave when memory is full.
Simulators, drivers and pagers call it, and need not guess rules from papers.

1. Does it decide as the driver does? Recorded on a GTX 1080 Ti, a 2 MiB block:
   page  F fault p prefetched # resident    driver     library  (64 KiB each)
T
"$uvmsim" measured "$data" >"$work/measured" || { status=$? && [ $status = 1 ]; }
sed -n '/P3: the GPU/,/^$/p' "$work/measured" | awk "$rows" | sed 1d
total=$(sed -n 's/^\([0-9]* of [0-9]*\) faults agree.*/\1/p' "$work/measured")
[ -n "$total" ]
# A comparison that cannot fail proves nothing: with a wrong threshold some faults must differ.
control=0
"$uvmsim" measured --brief "$data" --policy threshold=49 >"$work/control" || control=$?
verdict="All recorded faults"
[ $status = 0 ] && [ $control = 1 ] || verdict="DEFECTIVE LIBRARY" status=1
echo "   $verdict: $total agree. With threshold 49 %, not 51: $(sed 's/ of.*//' "$work/control")."

cat <<'T'

2. What the driver's prefetcher saves, and what it costs, against no prefetcher
                      everything fits           a fifth does not fit
   program      faults saved   data moved   faults saved   data moved
T
programs() { # the rest of the command line: options
	"$uvmsim" compare --format csv --oversub 100 --oversub 125 --workload regular:bytes=40m,passes=3 \
		--workload random:bytes=40m,passes=3 --workload sgemm:n=2560 --workload stream:bytes=20m,passes=5 \
		--workload stencil:n=2272,iterations=4 --workload bfs:scale=16,degree=37 "$@"
}
programs --policy prefetch=none --policy prefetch=density >"$work/programs"
awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{
		match($0, /^"[a-z]+/); name = substr($0, 2, RLENGTH - 1)
		match($0, /prefetch=[a-z]+/); prefetch = substr($0, RSTART + 9, RLENGTH - 9)
		gsub(/"[^"]*"/, "") # quoted fields hold commas
		if (prefetch == "none" && !seen[name]++) names[++count] = name
		full = ++runs[name, prefetch]
		faults[name, prefetch, full] = $column["far_faults"]
		moved[name, prefetch, full] = $column["h2d_bytes"] + $column["d2h_bytes"]
	}
	END {
		if (count != 6) exit 1
		for (n = 1; n <= count; n++) {
			line = sprintf("   %-10s", names[n])
			for (full = 1; full <= 2; full++) {
				saved = 100 * (1 - faults[names[n], "density", full] / faults[names[n], "none", full])
				ratio = moved[names[n], "density", full] / moved[names[n], "none", full]
				line = line sprintf(" %12.1f %% %10.1f x", saved, ratio)
				if (!(full in least) || saved < least[full]) least[full] = saved
				if (ratio > most[full]) { most[full] = ratio; worst[full] = names[n] }
			}
			print line
		}
		more = most[1] < 1.05 ? "no more data" : sprintf("up to %.1f x the data", most[1])
		printf "   All data fit: at least %d %% saved, %s. If not: %s moves %.1f x.\n", least[1], more, worst[2], most[2]
	}' "$work/programs"

set -- --workload stencil:n=1408,tile=32,iterations=4 --memory 12M --gpu titan-v
"$uvmsim" compare "$@" --policy preset=nvidia-595 --policy preset=auto --format csv 2>"$work/note" >"$work/stencil"
read_stencil='
	FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{
		gsub(/"[^"]*"/, "")
		mib = $column["footprint_bytes"] / 1048576; memory = $column["memory_bytes"] / 1048576
		faults[NR] = $column["far_faults"]; ms[NR] = $column["time_ns"] / 1e6
		copied[NR] = ($column["h2d_bytes"] + $column["d2h_bytes"]) / 1048576; remote[NR] = $column["remote_accesses"]
	}'
awk -F, "$read_stencil"'
	END { printf "\n3. When memory is full, the policy decides: stencil, %.1f MiB on a %.0f MiB GPU\n", mib, memory }
	' "$work/stencil"
"$uvmsim" plot "$@" --rows 8 --brief
awk -F, "$read_stencil"'
	END {
		printf "   The driver, as above, modelled Titan V: %.1f ms, %d faults, %.0f MiB copied.\n", ms[2], faults[2], copied[2]
		printf "   This library\047s preset=auto: %.1f ms, %d faults, %.0f MiB copied: %.1f x as fast.\n", ms[3], faults[3], copied[3],
			ms[2] / ms[3]
		printf "   Faults bring whole blocks, and %d accesses read or write CPU memory.\n", remote[3]
	}' "$work/stencil"

cat <<T

Next: $uvmsim compare --gpu titan-v --workload stencil:n=1408 \\
         --memory 12M --policy all
      make all && build/uvmp-run --budget 64M -- PROGRAM   # a program in 64 MiB
T
[ -n "${V:-}" ] || echo "      make run V=1 shows the details; README.md says where to read on"
[ -n "${V:-}" ] || exit $status

cat <<'T'

Details

A. Every recorded fault
   Three micro-benchmarks on a GTX 1080 Ti touch parts of 64 KiB of one VABlock.
   A profiler recorded faults and copies. The library gets the same faults.
   If the host touches memory for the first time, nothing is copied: the next
   fault shows what the driver populated.

T
awk "$rows" "$work/measured"
echo
tail -n 2 "$work/measured" | sed 's/ (default policy)//; s/^/   /'
echo "   Wrong thresholds differ:"
for threshold in 49 54 57; do
	printf '   threshold=%s: ' "$threshold"
	"$uvmsim" measured --brief "$data" --policy threshold=$threshold | sed 's/ (.*//'
done

cat <<'T'

B. Four prefetchers on the six programs, untimed
   Refaults: faults on pages that were evicted before. Unused: pages that were
   prefetched and never touched.

T
programs --policy prefetch=none --policy prefetch=sl --policy prefetch=density --policy prefetch=tbn >"$work/details"
awk -f "$here/run_table.awk" "$work/details"

cat <<'T'

C. The same with time: Titan V, PCIe 3, fault buffer, driver thread
   Each page of 80 MiB is touched once, in order or at random.

T
"$uvmsim" compare --format csv --gpu titan-v --oversub 100 --oversub 125 \
	--workload regular:bytes=80m,passes=1 --workload random:bytes=80m,passes=1 \
	--policy prefetch=none --policy prefetch=density --policy threshold=1 >"$work/details"
awk -v time=1 -f "$here/run_table.awk" "$work/details"

cat <<'T'

D. A real program: SQLite builds an index, recorded by uvmp-run
   The recording holds the faults of the unmodified program in 8 MiB of memory.
   tests/data/traces holds more programs.

T
"$uvmsim" compare --format csv --trace "$here/data/traces/sqlite.csv" --memory 8M --memory 4M --policy prefetch=none \
	--policy 'prefetch=none evict=lru4k' --policy prefetch=density --policy preset=uvmsmart-tbn 2>"$work/notes" >"$work/details"
awk -f "$here/run_table.awk" "$work/details"
exit $status
