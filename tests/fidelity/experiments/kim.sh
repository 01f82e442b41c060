# Kim et al. ASPLOS'20. Sourced by ../experiments.sh.
# shellcheck shell=sh
kim_us='v["group_ns_least"] / 1e3, v["group_ns_median"] / 1e3, v["group_ns_most"] / 1e3,
	v["group_handling_ns_least"] / 1e3, v["group_handling_ns_median"] / 1e3, v["group_handling_ns_most"] / 1e3,
	100 * v["group_handling_ns_mean"] / v["group_ns_mean"]'
kim_host() {
	for keys in batch_ns=2500 batch_ns=42500 'batch_ns=42500 fetch_ns=1490'; do
		# shellcheck disable=SC2086 # several keys
		model host.gpu titan-xp $keys
		run --gpu ./host.gpu --workload stream:bytes=64m
		regular=$(value group_handling_ns_least)
		for program in bfs_twc:scale=18,degree=34 bfs_ttc:scale=18,degree=34 bfs_twc:scale=20,degree=6; do
			run --gpu ./host.gpu --workload $program
			counted "print $kim_us, $regular / 1e3" | means "| kim_host | $program, $keys |" %.0f
		done
	done
}
kim=':scale=17,degree=23,skew=41'
# timed POLICY GPU OVERSUB PROGRAM ARGUMENT...
timed() {
	timed_as="--gpu $2 --oversub $3 --workload $4 --policy preset=$1"
	shift 4
	# shellcheck disable=SC2086 # words
	run $timed_as "$@"
}
kim_link() {
	for speeds in '15750 15750' '15750 31500' '31500 31500'; do
		printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 %s\nd2h = 65536 %s\n' ${speeds% *} ${speeds#* } \
			>kim.link
		printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 %s\nd2h = 65536 65536000\n' ${speeds% *} >ideal.link
		model kim.gpu asplos20 link=./kim.link
		model ideal.gpu asplos20 link=./ideal.link
		for program in bfs_dwc bfs_twc kcore; do
			for each in 'batch-aware-base kim' 'batch-aware-base ideal' 'batch-aware-to kim' 'batch-aware kim'; do
				timed ${each% *} ./${each#* }.gpu 200 $program$kim
				echo "$(value time_ns) $(value batch_ns_mean)"
			done | awk '{t[NR] = $1; b[NR] = $2} END {print 100 * (t[1] / t[2] - 1), t[3] / t[4], b[4] / b[1], b[4] / b[3]}'
		done | means "| kim_link | to the GPU ${speeds% *} MB/s, to the CPU ${speeds#* } |" %.2f
	done
}
kim_memory() {
	for oversub in 111 117 125 133 150 200; do
		for program in bfs_twc kcore sssp_twc; do
			for each in 'batch-aware-base 100' "batch-aware-base $oversub" "batch-aware-ue $oversub"; do
				timed ${each% *} asplos20 ${each#* } $program$kim
				value time_ns
			done | awk '{t[NR] = $1} END {print 100 * (1 - t[1] / t[2]), t[2] / t[3]}'
		done | means "| kim_memory | data of $oversub % of memory |" %.2f
	done
}
kim_graph() {
	for full in $kim_full; do
		for graph in scale=17,degree=23,skew=0 scale=17,degree=23,skew=41 scale=17,degree=23,skew=100 scale=18,degree=11,skew=41 \
			scale=19,degree=5,skew=41 scale=18,degree=34,skew=41 scale=19,degree=16,skew=41 scale=20,degree=6,skew=41; do
			for program in bfs_twc sssp_twc; do
				timed batch-aware-base,$full asplos20 200 $program:$graph
				base=$(value refaults)
				pages=$(value batch_pages_mean)
				timed batch-aware-to,$full asplos20 200 $program:$graph
				printf '%s %s ' "$(value refaults)/$base" "$(value batch_pages_mean)/$pages"
				for extra in 4 8; do
					timed batch-aware-to,$full,threads_drop=100,extra_blocks=$extra asplos20 200 $program:$graph
					printf '%s ' "$(value refaults)/$base"
				done
				echo
			done | awk -v row="| kim_graph | $graph, $full |" '
				{printf "%s", row; row = ""; for (i = 1; i <= NF; i++) {split($i, p, "/"); printf " %.3f |", p[1] / p[2]}}
				END {print ""}'
		done
	done
}
# small POLICY PROGRAM GPU OVERSUB: time of a program of a smaller graph
small() {
	run --gpu $3 --oversub $4 --workload $2 --policy preset=$1
	value time_ns
}
kim_dwc() {
	for change in '125 15750' '150 15750' '200 15750' '400 15750' '200 63000'; do
		printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 15750\nd2h = 65536 %s\n' ${change#* } >dwc.link
		model dwc.gpu asplos20 link=./dwc.link
		for program in bfs_dwc:scale=16,degree=23,skew=44 bfs_dwc:scale=17,degree=5,skew=41; do
			for policy in batch-aware-base batch-aware-ue; do small $policy $program ./dwc.gpu ${change% *}; done
		done | awk -v row="| kim_dwc | data of ${change% *} %, ${change#* } MB/s to the CPU |" \
			'{t[NR] = $1} END {printf "%s %.2f | %.2f |\n", row, t[1] / t[2], t[3] / t[4]}'
	done
}
kim_ahead() {
	for policy in etc etc,free_buffer=5 etc,free_buffer=20; do
		for program in bfs_dwc bfs_twc sssp_twc; do
			small $policy $program:scale=16,degree=23,skew=44 asplos20 200
			value refaults
		done | awk -v row="| kim_ahead | $policy |" \
			'{if (NR % 2) t = t sprintf(" %.1f |", $1 / 1e6); else r = r " " $1 " |"} END {print row t r}'
	done
}
kim_small() {
	for graph in scale=16,degree=23,skew=44 scale=17,degree=5,skew=41; do
		for oversub in 125 200 400 1000; do
			for program in bfs_twc sssp_twc; do
				for policy in batch-aware-base batch-aware-ue; do small $policy $program:$graph asplos20 $oversub; done
			done | awk -v row="| kim_small | $graph, data of $oversub % |" \
				'{t[NR] = $1} END {printf "%s %.2f | %.2f |\n", row, t[1] / t[2], t[3] / t[4]}'
		done
	done
}
kim_sizes() {
	for oversub in 125 200; do
		for program in bfs_dwc:scale=16,degree=23,skew=44 bfs_twc:scale=16,degree=23,skew=44 gc_ttc:scale=15,degree=8,skew=47 \
			gc_ttc:scale=17,degree=8,skew=41; do
			for policy in batch-aware-base batch-aware-to; do
				small $policy $program asplos20 $oversub >small.time
				value batch_pages_mean
			done
		done | awk -v row="| kim_sizes | data of $oversub % |" \
			'{b[NR] = $1} END {for (i = 1; i < NR; i += 2) row = row sprintf(" %.2f |", b[i + 1] / b[i]); print row}'
	done
}
# Graphs of 26 MB and more: the source tells footprints, and neither vertices nor edges.
kim_graphs='scale=17,degree=23,skew=41 scale=18,degree=11,skew=41 scale=19,degree=5,skew=41'
graphed() { # PROGRAM GRAPH KEYS [RUN...]: those or all runs of figures 8 to 17 on a graph, and what rows compute from them
	graphed_program=$1 graphed_graph=$2 graphed_keys=$3
	shift 3
	[ $# -gt 0 ] || set -- 'all base 100 asplos20' 'base base 200 asplos20' 'ideal base 200 ./ideal.gpu' 'link link 200 asplos20' \
		'etc etc 200 asplos20' 'to to 200 asplos20' 'ue ue 200 asplos20' 'both both 200 asplos20' \
		'tenth base 1000 asplos20' 'tenth-ue ue 1000 asplos20' 'ahead etc,free_buffer=5 200 asplos20' \
		'base50 base 200 ./slow.gpu' 'both50 both 200 ./slow.gpu'
	for each in "$@"; do
		# shellcheck disable=SC2086 # name, policy, memory and GPU
		set -- $each
		case $2 in
		link) policy=compressed-link ;;
		etc*) policy=$2 ;;
		both) policy=batch-aware ;;
		*) policy=batch-aware-$2 ;;
		esac
		timed $policy$graphed_keys "$4" "$3" "$graphed_program:$graphed_graph"
		counted "print \"$graphed_program $1\", v[\"time_ns\"], v[\"batches\"], v[\"batch_ns_mean\"], v[\"batch_pages_mean\"],
			v[\"refaults\"], v[\"batch_pages_p90\"]"
	done
}
# cheaper LOG: does a page cost less in the larger half of the batches?
cheaper() {
	awk -v keys=sizes -f "$here/batches.awk" "$1" >points
	awk '{v[$1] = $2} END {print (v["small_page_ns"] > v["large_page_ns"] ? "yes" : "no")}' sizes
}
# halves GRAPH KEYS: figure 16 on a graph, without and with thread oversubscription
halves() {
	for policy in base to; do
		timed batch-aware-$policy$2 asplos20 200 "bfs_twc:$1" --log log
		cheaper log
	done | awk '$1 == "no" {no = 1} END {print (no ? "no" : "yes")}'
}
# Prefetching ends when memory is full, as in the rows, or goes on: the source does not say which.
kim_full='prefetch_full=none prefetch_full=same'
kim_inputs() {
	printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 15750\nd2h = 65536 65536000\n' >ideal.link
	model ideal.gpu asplos20 link=./ideal.link
	model slow.gpu asplos20 batch_ns=50000
	for full in $kim_full; do
		for graph in $kim_graphs; do
			halves=$(halves $graph ,$full)
			{
				for program in bfs_dwc bfs_tf bfs_twc kcore; do graphed $program $graph ,$full; done
				graphed sssp_twc $graph ,$full 'etc etc 200 asplos20' 'ahead etc,free_buffer=5 200 asplos20'
			} | awk -v row="| kim_inputs | $graph, $full |" -v halves="$halves" -f "$here/inputs.awk"
		done
	done
}
kim_measured() {
	for program in bfs_twc:scale=18,degree=34 bfs_ttc:scale=18,degree=34 bfs_ta:scale=18,degree=34 bfs_tf:scale=18,degree=34 \
		bfs_dwc:scale=18,degree=34 bfs_twc:scale=18,degree=34,skew=41 bfs_twc:scale=20,degree=6 bfs_ttc:scale=20,degree=6; do
		run --gpu titan-xp --workload $program --log log
		falls=$(cheaper log)
		counted "print $kim_us" | means "| kim_measured | $program |" %.0f | sed "s/\$/ $falls |/"
	done
}
# Memory of the simulated GPU: the rows have 300 GB/s.
kim_speed() {
	printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 15750\nd2h = 65536 65536000\n' >ideal.link
	for speed in 300000 100000 30000; do
		model speed.gpu asplos20 memory_mb_s=$speed
		model ideal.gpu asplos20 memory_mb_s=$speed link=./ideal.link
		for program in bfs_dwc bfs_twc kcore sssp_twc; do
			for each in 'batch-aware-base 100 speed' 'batch-aware-base 200 speed' 'batch-aware-base 200 ideal' 'batch-aware-to 200 speed' \
				'batch-aware 200 speed'; do
				# shellcheck disable=SC2086 # policy, memory and GPU
				set -- $each
				timed $1 ./$3.gpu $2 $program$kim
				echo "$(value time_ns) $(value batch_ns_mean)"
			done | awk '{t[NR] = $1; b[NR] = $2} END {print 100 * (1 - t[1] / t[2]), 100 * (t[2] / t[3] - 1), t[2] / t[5], b[5] / b[4]}'
		done | means "| kim_speed | $speed MB/s |" %.2f
	done
}
kim_turns() {
	for keys in 'waits_to_evict=0 maps_copies=0' 'waits_to_evict=1 maps_copies=0' 'waits_to_evict=1 maps_copies=1'; do
		# shellcheck disable=SC2086 # two keys
		model turns.gpu asplos20 $keys
		for program in bfs_dwc bfs_twc kcore; do
			for policy in batch-aware-base batch-aware-to batch-aware-ue batch-aware; do
				timed $policy ./turns.gpu 200 $program$kim
				echo "$(value time_ns) $(value batch_ns_mean) $(value refaults)"
			done | awk '{t[NR] = $1; b[NR] = $2; back[NR] = $3}
				END {print t[1] / t[2], t[2] / t[4], t[1] / t[3], t[1] / t[4], b[4] / b[1], b[4] / b[2], back[3] / back[1]}'
		done | means "| kim_turns | $keys |" %.2f
	done
}
# Figure 1: pages that half of the cores use over those of all cores, mean of the four irregular programs
kim_cores() {
	for graph in scale=15,degree=23,skew=47 scale=16,degree=11,skew=44 scale=17,degree=5,skew=41; do
		for program in bfs_ttc bfs_twc sssp_twc kcore; do
			"$uvmsim" trace --workload $program:$graph,agents=16 2>errors | awk -f "$here/sharing.awk" >counts
			counted 'print v["pages_8"] / v["pages_16"]'
		done | means "| kim_cores | $graph |" %.2f | awk 1
	done
}
