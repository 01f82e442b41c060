#!/bin/sh
# Nanoseconds of CPU time per serviced fault against the footprint, for every prefetcher and every order of eviction: random 4 KiB
# accesses, two passes, memory for four fifths of the footprint. A decision whose cost grows with the footprint or with the number
# of resident pages shows in its row; caches of the machine show in all rows. BUILD/scale.csv has the same table.
# usage: scale.sh BUILD [POLICY...]; SCALE_SIZES (default "256m 1g 4g 16g 64g"), SCALE_SEED (1) may be set
set -eu
build=$1
shift
sizes=${SCALE_SIZES:-256m 1g 4g 16g 64g}
json=$build/scale.json
trap 'rm -f "$json"' EXIT

bytes() { case $1 in *g) echo $((${1%g} << 30)) ;; *m) echo $((${1%m} << 20)) ;; esac; }

# of_faults SIZE POLICY: nanoseconds of one fault
of_faults()
{
	figures=$("$build/bench" measure "$json" "$build/uvmsim" run --workload "random:bytes=$1,passes=2" \
		--memory $(($(bytes "$1") / 2097152 * 4 / 5 * 2097152)) --policy "$2" --seed "${SCALE_SEED:-1}" --format json) ||
		{ echo "scale.sh: uvmsim failed with $2 at $1" >&2; exit 1; }
	figures=${figures#* }
	sed -n 's/.*"far_faults": \([0-9]*\).*/\1/p' "$json" | awk -v us="${figures% *}" '{printf "%.0f", us * 1000 / $1}'
}

# values KEY: the words that a key of the policy string accepts
values() { "$build/uvmsim" list policies "$1" | sed -n 's/^ *values: //p'; }
policies()
{
	for prefetcher in $(values prefetch); do echo "prefetch=$prefetcher"; done
	for order in $(values evict); do echo "prefetch=none evict=$order"; done
	for order in $(values evict); do
		case $order in lru | random4k) ;; *) echo "prefetch=none evict=$order reserve=10" ;; esac
	done
}

echo "policy,$(echo "$sizes" | tr ' ' ,)" | tee "$build/scale.csv" | tr , '\t' | awk -F '\t' '{printf "%-32s", $1; for (i = 2; i <= NF; i++) printf "%8s", $i; print "   last/first"}'
{ if [ $# -gt 0 ]; then printf '%s\n' "$@"; else policies; fi; } | while read -r policy; do
	row=$policy
	for size in $sizes; do row=$row,$(of_faults "$size" "$policy"); done
	echo "$row" | tee -a "$build/scale.csv" | awk -F , '{printf "%-32s", $1; for (i = 2; i <= NF; i++) printf "%8s", $i; printf "%12.1f\n", $NF / $2}'
done
