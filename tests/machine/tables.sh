#!/bin/sh
# The rows of tables in docs/machine.md, models.md and uvmsim.md that no test compares, as Markdown, without the published rows.
# usage: tables.sh UVMSIM code|faults|locks|arrays|extra_blocks|tlbs|keys|request_bytes
set -eu
uvmsim=$1 table=$2
case $uvmsim in */*) uvmsim=$(cd "$(dirname "$uvmsim")" && pwd)/${uvmsim##*/} ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# run ARGUMENT...: the counts of a run, for value
run() { "$uvmsim" run --format json "$@" 2>/dev/null | tr ',' '\n' | sed -n 's/.*"\([a-z0-9_]*\)": \([0-9][0-9]*\)}*$/\1 \2/p' >counts; }
value() { sed -n "s/^$1 //p" counts; }
# scaled KEY DIVISOR FORMAT
scaled() { awk -v key="$1" -v by="$2" -v form="$3" '$1 == key {printf form, $2 / by}' counts; }
# model NAME BASE KEY=VALUE...: a file of one's own
model() {
	name=$1
	echo "include = $2" >"$name"
	shift 2
	for key in "$@"; do echo "${key%%=*} = ${key#*=}" >>"$name"; done
}
bfs=rodinia_bfs:nodes=261444,edges=1568420

code() {
	for keys in 'executes_code=0 memory_spread_ns=0' memory_spread_ns=0 executes_code=0 ''; do
		# shellcheck disable=SC2086 # several keys
		model ./code.gpu gtx-1080-ti $keys
		for seed in 1 2 3 4 5; do
			run --seed $seed --gpu ./code.gpu --memory 6M --workload hotspot:n=1024,pyramid_height=2,sim_time=8
			echo "$(value h2d_bytes) $(value h2d_copies) $(value d2h_bytes) $(value batches) $(value kernel_ns)"
		done | awk -v keys="${keys:-as in gtx-1080-ti}" '
			{for (i = 1; i <= NF; i++) sum[i] += $i / 5}
			END {printf "| %s | %.1f | %.0f | %.1f | %.0f | %.1f |\n", keys, sum[1] / 1048576, sum[2], sum[3] / 1048576, sum[4], sum[5] / 1e6}'
	done
}
faults() {
	for each in 16 8 4; do
		model ./nvlink.gpu p100-nvlink utlb_faults=$each
		model ./pcie.gpu p100-pcie utlb_faults=$each
		run --gpu ./nvlink.gpu --workload stream_thread:bytes=64m
		printf '| %s | %s | %s |' $each "$(value batches)" "$(value batch_faults_most)"
		awk '{v[$1] = $2} END {printf " %.2f ms | %d |", v["batches"] * v["batch_ns_mean"] / 1e6, v["h2d_copies"]}' counts
		run --gpu ./pcie.gpu --workload stream_thread:bytes=1g
		awk '{v[$1] = $2} END {printf " %.2f GB/s |\n", v["h2d_bytes"] / v["time_ns"]}' counts
	done
}
locks() {
	for holds in 0 1; do
		model ./lock.gpu gtx-1080-ti lock_holds=$holds
		printf '| %s |' $holds
		for memory in 6M 4M 2M; do
			run --gpu ./lock.gpu --memory $memory --workload $bfs
			printf ' %s; %s |' "$(value batches)" "$(scaled h2d_bytes 1048576 %.0f)"
		done
		echo
	done
}
arrays() {
	for memory in 16M 12M; do
		for bytes in 65536 524288 2097152; do
			model ./arrays.gpu gtx-1080-ti range_bytes=$bytes
			run --gpu ./arrays.gpu --memory $memory --workload backprop:n=131056
			echo "| $memory | $bytes | $(scaled h2d_bytes 1048576 %.4f) | $(scaled d2h_bytes 1048576 %.4f) |"
		done
	done
}
extra_blocks() {
	for program in sssp_twc:scale=16,degree=16 bfs_ttc:scale=17,degree=23 bfs_ttc:scale=16,degree=16; do
		for extra in 0 1 2; do
			policy=preset=batch-aware-base
			[ $extra = 0 ] || policy=$policy,threads=on,threads_drop=100,extra_blocks=$extra
			run --gpu asplos20 --oversub 200 --policy "$policy" --workload $program
			echo "| $program | $extra | $(scaled time_ns 1000000 %.2f) | $(value batches) | $(scaled batch_pages_mean 1 %.0f) | $(scaled h2d_bytes 65536 %.0f) | $(value context_switches) |"
		done
	done
}
tlbs() {
	for program in srad:rows=1024,cols=1024,iterations=4 backprop:n=65536; do
		for entries in 16 64 256 1024 4096; do
			for shootdown in entry whole; do
				model ./tlb.gpu v100-sand tlb_shootdown=$shootdown utlb_entries=$entries
				run --gpu ./tlb.gpu --workload $program --policy preset=uvmsmart
				awk '{v[$1] = $2} END {printf "%.1f %% %.2f\n", 100 * v["tlb_hits"] / (v["tlb_hits"] + v["tlb_misses"]), v["kernel_ns"] * 1.312 / 1e6}' counts
			done | awk -v row="| $program | $entries |" '{hits[NR] = $1; cycles[NR] = $3} END {print row, hits[1], "% |", hits[2], "% |", cycles[1], "|", cycles[2], "|"}'
		done
	done
}
keys() {
	set -- retires_idle keeps_faults queues_copies holds_memory lists_arrivals coalesces maps_copies
	for count in 0 1 2 3 4 5 6 7; do
		model ./keys.gpu uvmsmart block_ns=0 retires_idle=0 keeps_faults=0 queues_copies=0 holds_memory=0 lists_arrivals=0 coalesces=0 maps_copies=0
		n=0
		for key in "$@"; do
			n=$((n + 1))
			[ $n -gt $count ] || sed -i "s/^$key = 0/$key = 1/" keys.gpu
		done
		run --gpu ./keys.gpu --memory 9297920 --workload $bfs --policy preset=uvmsmart,evict=lru4k,prefetch_full=none
		echo "| the first $count of $* | $(value far_faults) | $(value pages_migrated) | $(value pages_evicted) |"
	done
}
request_bytes() {
	policy='prefetch=none evict=lru4k remote=always'
	for program in sssp:nodes=262144 nw:n=1024 bfs:scale=16 ra:n=4194304 regular:bytes=64m stencil:n=1024,iterations=2 sgemm:n=1024; do
		"$uvmsim" trace --workload $program --output two.csv
		# version 1 has no bytes behind the address
		sed '1s/2$/1/; s/^\([0-9]*,[0-9cpu]*,[rwap],0x[0-9a-f]*\),[0-9]*$/\1/' two.csv >one.csv
		printf '| `%s` |' $program
		for source in "--workload $program" '--trace two.csv' '--trace one.csv'; do
			# shellcheck disable=SC2086 # an option and its value
			run --gpu titan-v --oversub 150 --policy "$policy" $source
			printf ' %s |' "$(value remote_h2d_bytes)"
		done
		echo
	done
}
case $table in
code | faults | locks | arrays | extra_blocks | tlbs | keys | request_bytes) $table ;;
*)
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
	;;
esac
