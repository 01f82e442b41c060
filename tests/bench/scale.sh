#!/bin/sh
# Nanoseconds of CPU time per serviced fault against the footprint, for every prefetcher and every order of eviction, in a
# memory that is full: the program moves a page of each VABlock in the second half of its footprint to the GPU, then the first
# half, which fills the memory; then it reads pages of 4 KiB in random order. The difference of two runs, with and without
# these reads, is divided by their far faults: the cost of a fault with its prefetch and evictions, and of the reads that hit.
# All rows show the machine's caches; a decision that searches footprint or resident pages shows in its row. BUILD/scale.csv
# has the same table.
# usage: scale.sh BUILD [POLICY...]; SCALE_SIZES (default "256m 1g 4g 16g 64g"), SCALE_READS (500000), SCALE_SEED (1),
# SCALE_REPEATS (2: the least of two) may be set; SCALE_UNIT=instructions counts them instead (callgrind; slow),
# into BUILD/scale-instructions.csv
set -eu
build=$1
shift
sizes=${SCALE_SIZES:-256m 1g 4g 16g 64g}
reads=${SCALE_READS:-500000}
repeats=${SCALE_REPEATS:-2}
uvmsim=$build/uvmsim
file=$build/scale
csv=$build/scale${SCALE_UNIT:+-$SCALE_UNIT}.csv
trap 'rm -f "$file".*.bin "$file.json" "$file.out"' EXIT

bytes() { case $1 in *g) echo $((${1%g} << 30)) ;; *m) echo $((${1%m} << 20)) ;; esac; }

# program SIZE READS: the trace of a program
program()
{
	[ -f "$file.$1.$2.bin" ] && return
	"$uvmsim" trace --workload "random:bytes=$1,passes=1000" --seed "${SCALE_SEED:-1}" 2>"$file.out" |
		awk -F , -v reads="$2" '
			function number(hex,   n, i) {
				for (i = 3; i <= length(hex); i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
				return n
			}
			function hex(n,   digits) {
				for (; n > 0; n = int(n / 16)) digits = substr("0123456789abcdef", n % 16 + 1, 1) digits
				return "0x" digits
			}
			$1 == "range" {
				print
				for (at = $3 / 2; at < $3; at += 2097152) print "prefetch,gpu," hex(number($2) + at) ",4096"
				printf "prefetch,gpu,%s,%.0f\n", $2, $3 / 2
				if (reads == 0) exit
				next
			}
			{print}
			/,r,/ && --reads == 0 {exit}' | "$uvmsim" trace --trace - --format binary --output "$file.$1.$2.bin"
}

# costs SIZE READS POLICY: nanoseconds or instructions of a run, the least of the repeats; its far faults
costs()
{
	set -- "$uvmsim" run --trace "$file.$1.$2.bin" --memory $(($(bytes "$1") / 2)) --policy "$3" --seed 1 --format json
	if [ "${SCALE_UNIT:-}" = instructions ]; then
		valgrind --tool=callgrind --callgrind-out-file="$file.out" "$@" >"$file.json" 2>/dev/null || return 1
		cost=$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' "$file.out")
	else
		cost=
		for _ in $(seq "$repeats"); do
			figures=$("$build/bench" measure "$file.json" "$@") || return 1
			figures=${figures#* }
			[ -n "$cost" ] && [ "$cost" -lt "${figures% *}000" ] || cost=${figures% *}000
		done
	fi
	echo "$cost $(sed -n 's/.*"far_faults": \([0-9]*\).*/\1/p' "$file.json")"
}

# of_faults SIZE POLICY: of one fault
of_faults()
{
	program "$1" 0
	program "$1" "$reads"
	empty=$(costs "$1" 0 "$2") && full=$(costs "$1" "$reads" "$2") || { echo "scale.sh: uvmsim failed with $2 at $1" >&2; exit 1; }
	echo "$empty $full" | awk '{printf "%.0f", ($3 - $1) / ($4 - $2)}'
}

# values KEY: the words that a key of the policy string accepts
values() { "$uvmsim" list policies "$1" | sed -n 's/^ *values: //p'; }
policies()
{
	for prefetcher in $(values prefetch); do echo "prefetch=$prefetcher"; done
	for order in $(values evict); do echo "prefetch=none evict=$order"; done
	for order in $(values evict); do
		case $order in lru | random4k) ;; *) echo "prefetch=none evict=$order reserve=10" ;; esac
	done
}

echo "policy,$(echo "$sizes" | tr ' ' ,)" | tee "$csv" | tr , '\t' |
	awk -F '\t' '{printf "%-36s", $1; for (i = 2; i <= NF; i++) printf "%8s", $i; print "  last/first"}'
{ if [ $# -gt 0 ]; then printf '%s\n' "$@"; else policies; fi; } | while read -r policy; do
	row=$policy
	for size in $sizes; do row=$row,$(of_faults "$size" "$policy"); done
	echo "$row" | tee -a "$csv" |
		awk -F , '{printf "%-36s", $1; for (i = 2; i <= NF; i++) printf "%8s", $i; printf "%12.1f\n", $NF / $2}'
done
