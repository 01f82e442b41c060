#!/bin/sh
# The rows of tables in docs/machine.md, models.md, policies.md and uvmsim.md that no test compares, as Markdown, without the published rows.
# usage: tables.sh UVMSIM code|faults|locks|arrays|extra_blocks|tlbs|keys|request_bytes|orders|remote
set -eu
uvmsim=$1 table=$2
. "$(dirname "$0")/runs.sh"
# scaled KEY DIVISOR FORMAT
scaled() { awk -v key="$1" -v by="$2" -v form="$3" '$1 == key {printf form, $2 / by}' counts; }
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
		model ./nvlink.gpu p100-nvlink pipelines_copies=0 utlb_faults=$each # as nvprof
		model ./pcie.gpu p100-pcie utlb_faults=$each
		run --gpu ./nvlink.gpu --workload stream_thread:bytes=64m,grid=1024,type_bytes=8
		printf '| %s | %s | %s |' $each "$(value batches)" "$(value batch_faults_most)"
		awk '{v[$1] = $2} END {printf " %.2f ms | %d |", v["batches"] * v["batch_ns_mean"] / 1e6, v["h2d_copies"]}' counts
		run --gpu ./pcie.gpu --workload stream_thread:bytes=1g,grid=1024,type_bytes=8
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
# pair KEY PUBLISHED: published and simulated, with commas
pair() {
	awk -v key="$1" -v published="$2" '
		function commas(n) {n = n ""; return length(n) > 3 ? commas(substr(n, 1, length(n) - 3)) "," substr(n, length(n) - 2) : n}
		$1 == key {printf " %s | %s |", commas(published), commas($2)}' counts
}
orders() { # of eviction, beside published runs
	while read -r policy faults in out; do
		run --gpu uvmsmart --memory 9294239 --workload $bfs --policy "$policy"
		printf '| %s |' "$policy"
		pair far_faults "$faults"
		pair pages_migrated "$in"
		pair pages_evicted "$out"
		echo
	done <<-'END'
		preset=uvmsmart-lru-od 5419 7862 5593
		preset=uvmsmart-lru-od,free_buffer=5 7687 10130 7975
		preset=uvmsmart-lru-od,free_buffer=10 9789 11850 9808
		preset=uvmsmart,evict=random4k,prefetch_full=none 2364 4807 2538
		preset=uvmsmart,evict=sl64k,prefetch_full=none 4075 6518 4256
		preset=uvmsmart,evict=tbne,prefetch_full=none 5109 7552 5296
		preset=uvmsmart-random 2210 4848 2579
		preset=uvmsmart-sl 429 8448 6192
		preset=uvmsmart-tbn 143 11648 9392
		preset=uvmsmart-tbn,reserve=10 130 10000 7984
		preset=uvmsmart-tbn,reserve=20 95 7184 5024
		preset=uvmsmart 175 12256 10240
	END
}
remote() { # beside published runs; the first is the one without remote access
	while read -r policy again in ms; do
		run --gpu uvmsmart --memory 8178893 --workload $bfs --policy "$policy"
		printf '| %s |' "$policy"
		pair pages_thrashed "$again"
		pair pages_migrated "$in"
		awk -v ms="$ms" '{v[$1] = $2} END {printf " %s ms | %.1f ms |\n", ms, v["time_ns"] / 1e6}' counts
	done <<-'END'
		preset=uvmsmart,evict=lfu2m 8304 10800 12.4
		preset=uvmsmart 10544 13040 14.3
		preset=uvmsmart-oversub 6768 9264 11.3
		preset=uvmsmart-always 5744 8240 10.0
		preset=uvmsmart-adaptive 5744 8240 10.4
		preset=uvmsmart-adaptive,remote_penalty=4 5232 7728 9.8
		preset=uvmsmart-adaptive,remote_penalty=8 5232 7728 9.7
	END
}
case $table in
orders | remote | code | faults | locks | arrays | extra_blocks | tlbs | keys | request_bytes) $table ;;
*)
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
	;;
esac
# a run that failed in a pipeline
[ ! -f failed ]
