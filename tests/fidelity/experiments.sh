#!/bin/sh
# Experiments on published figures that the simulator misses: one suspected cause is changed, everything else stays. Prints the
# rows of the tables in docs/fidelity-experiments.md: experiment, change, figures in the order of the table's head.
# usage: experiments.sh UVMSIM [kim_host|kim_link|kim_memory|kim_graph|ti_latency|ti_utlb|ti_batch|ti_bfs|blog_utlb|blog_grid|blog_tiles|sand_fault|allen_stale ...]
set -eu
all='kim_host kim_link kim_memory kim_graph ti_latency ti_utlb ti_batch ti_bfs blog_utlb blog_grid blog_tiles sand_fault allen_stale'
usage() {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}
[ $# -gt 0 ] || usage
uvmsim=$1
shift
[ $# -gt 0 ] || set -- $all
for name in "$@"; do
	case " $all " in
	*" $name "*) ;;
	*)
		echo "experiments.sh: no experiment \`$name'" >&2
		usage
		;;
	esac
done
. "$(dirname "$0")/../machine/runs.sh"
# counted EXPRESSION: of awk, over v["KEY"]
counted() { awk "{v[\$1] = \$2} END {$1}" counts; }
# means ROW FORMAT: the means of the columns that come in
means() {
	awk -v row="$1" -v form="$2" '
		{for (i = 1; i <= NF; i++) sum[i] += $i}
		END {printf "%s", row; for (i = 1; i <= NF; i++) printf " " form " |", sum[i] / NR; print ""}'
}

batches() { # CHANGE GPU PROGRAM POLICY: microseconds of batches and their handling
	run --gpu "$2" --workload "$3" --policy "$4"
	counted 'print v["batch_ns_least"] / 1e3, v["batch_ns_median"] / 1e3, v["batch_ns_most"] / 1e3, v["handling_ns_least"] / 1e3, v["handling_ns_median"] / 1e3, v["handling_ns_most"] / 1e3, 100 * v["handling_ns_mean"] / v["batch_ns_mean"]' |
		means "| kim_host | $1 |" %.0f
}
kim_host() {
	for keys in batch_ns=2500 batch_ns=42500 'batch_ns=42500 fetch_ns=1490'; do
		for policy in prefetch=density prefetch=none; do
			for program in bfs_twc bfs_ttc; do
				# shellcheck disable=SC2086 # several keys
				model host.gpu titan-xp $keys
				batches "$program, $policy, $keys" ./host.gpu $program:scale=18,degree=34 $policy
			done
		done
	done
}
kim=':scale=17,degree=23,skew=41'
# timed POLICY GPU OVERSUB PROGRAM
timed() { run --gpu "$2" --oversub "$3" --workload "$4" --policy "preset=$1"; }
kim_link() {
	for speeds in '15750 15750' '15750 31500' '31500 31500'; do
		printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 %s\nd2h = 65536 %s\n' ${speeds% *} ${speeds#* } >kim.link
		printf 'title = the link\nsource = an experiment\nlatency_ns = 0\nh2d = 65536 %s\nd2h = 65536 65536000\n' ${speeds% *} >ideal.link
		model kim.gpu asplos20 link=./kim.link
		model ideal.gpu asplos20 link=./ideal.link
		for program in bc bfs_dwc bfs_ta bfs_twc kcore sssp_twc; do
			for each in 'batch-aware-base kim' 'batch-aware-base ideal' 'batch-aware-to kim' 'batch-aware kim'; do
				timed ${each% *} ./${each#* }.gpu 200 $program$kim
				echo "$(value time_ns) $(value batch_ns_mean)"
			done | awk '{t[NR] = $1; b[NR] = $2} END {print 100 * (t[1] / t[2] - 1), t[3] / t[4], b[4] / b[1], b[4] / b[3]}'
		done | means "| kim_link | to the GPU ${speeds% *} MB/s, to the CPU ${speeds#* } |" %.2f
	done
}
kim_memory() {
	for oversub in 111 117 125 200; do
		for program in bfs_twc kcore sssp_twc; do
			for each in 'batch-aware-base 100' "batch-aware-base $oversub" "batch-aware-ue $oversub"; do
				timed ${each% *} asplos20 ${each#* } $program$kim
				value time_ns
			done | awk '{t[NR] = $1} END {print 100 * (1 - t[1] / t[2]), t[2] / t[3]}'
		done | means "| kim_memory | data of $oversub % of memory |" %.2f
	done
}
kim_graph() {
	for graph in scale=17,degree=23,skew=0 scale=17,degree=23,skew=41 scale=17,degree=23,skew=100 scale=18,degree=11,skew=41 scale=19,degree=5,skew=41; do
		for program in bfs_twc sssp_twc; do
			timed batch-aware-base asplos20 200 $program:$graph
			base=$(value refaults)
			pages=$(value batch_pages_mean)
			timed batch-aware-to asplos20 200 $program:$graph
			printf '%s %s ' "$(value refaults)/$base" "$(value batch_pages_mean)/$pages"
			for extra in 4 8; do
				timed batch-aware-to,threads_drop=100,extra_blocks=$extra asplos20 200 $program:$graph
				printf '%s ' "$(value refaults)/$base"
			done
			echo
		done | awk -v row="| kim_graph | $graph |" '
			{printf "%s", row; row = ""; for (i = 1; i <= NF; i++) {split($i, p, "/"); printf " %.2f |", p[1] / p[2]}}
			END {print ""}'
	done
}
# real WORKLOAD MEMORY GPU ARGUMENT...: bytes and copies in both directions, and groups, mean of three seeds
real() {
	program_run=$1 memory=$2 gpu=$3
	shift 3
	for seed in 1 2 3; do
		run --seed $seed --gpu "$gpu" --memory "$memory" --workload "$program_run" "$@"
		counted 'print v["h2d_bytes"] / 1048576, v["h2d_copies"], v["d2h_bytes"] / 1048576, v["d2h_copies"], v["batches"], v["kernel_ns"] / 1e6'
	done
}
hotspot=hotspot:n=1024,pyramid_height=2,sim_time=8
tis() {
	for keys in "$@"; do
		model ti.gpu gtx-1080-ti $keys
		real backprop:n=131056 16M ./ti.gpu | means "| $name | backprop 100 %, $keys |" %.1f
		real backprop:n=131056 10M ./ti.gpu | means "| $name | backprop 150 %, $keys |" %.1f
		real $hotspot 10M ./ti.gpu | means "| $name | hotspot 100 %, $keys |" %.1f
		real $hotspot 6M ./ti.gpu | means "| $name | hotspot 125 and 150 %, $keys |" %.1f
	done
}
ti_batch() {
	for batch in 256 64; do
		for program in 'backprop:n=131056 16M' 'backprop:n=131056 10M' "$hotspot 10M" "$hotspot 6M"; do
			real "${program% *}" ${program#* } gtx-1080-ti --policy batch=$batch | means "| ti_batch | ${program%%:*} in ${program#* }iB, batch=$batch |" %.1f
		done
	done
}
ti_latency() { tis memory_spread_ns=0 memory_spread_ns=300 memory_spread_ns=800; }
ti_utlb() { tis utlb_faults=4 utlb_faults=8; }
ti_bfs() {
	for keys in lock_holds=1 memory_latency_ns=600 memory_latency_ns=1200 lock_holds=0; do
		model ti.gpu gtx-1080-ti $keys
		run --gpu ./ti.gpu --memory 6M --workload rodinia_bfs:nodes=261444,edges=1568420
		counted 'print v["h2d_bytes"] / 1048576, v["h2d_copies"], v["d2h_bytes"] / 1048576, v["d2h_copies"], v["batches"], v["kernel_ns"] / 1e6' | means "| ti_bfs | $keys |" %.1f
	done
	for graph in nodes=261444,edges=1400000 nodes=261444,edges=1700000 nodes=240000,edges=1568420 nodes=280000,edges=1568420; do
		run --gpu gtx-1080-ti --memory 6M --workload rodinia_bfs:$graph
		counted 'print v["h2d_bytes"] / 1048576, v["h2d_copies"], v["d2h_bytes"] / 1048576, v["d2h_copies"], v["batches"], v["kernel_ns"] / 1e6' | means "| ti_bfs | $graph |" %.1f
	done
}
minsky() { # CHANGE GPU WORKLOAD
	run --gpu $2 --workload $3
	counted 'print v["h2d_copies"], v["h2d_bytes"] / v["h2d_copies"] / 1024, v["h2d_most_bytes"] / 1024, v["batches"], v["batch_faults_most"]' | means "| $name | $1 |" %.0f
}
blog_utlb() {
	for each in 2 4 8 16; do
		model nvlink.gpu p100-nvlink utlb_faults=$each
		minsky utlb_faults=$each ./nvlink.gpu stream_thread:bytes=64m
	done
}
blog_grid() {
	for each in 28 56 84 112 168 448; do minsky grid=$each p100-nvlink stream_thread:bytes=64m,grid=$each; done
}
blog_tiles() {
	for weight in 5000 10000 12000 16000 20000; do
		for order in naive optimized; do
			run --gpu p100-pcie --workload tiles:order=$order,weight=$weight
			value time_ns
		done | awk -v row="| blog_tiles | weight $weight |" '{t[NR] = $1} END {printf "%s %.2f |\n", row, t[1] / t[2]}'
	done
}
sand() { # CHANGE BATCH KEY=VALUE...
	change=$1 batch=$2
	shift 2
	model sand.gpu v100-sand "$@"
	for program in rodinia_bfs:nodes=4096 hotspot:n=30,pyramid_height=6,sim_time=40 pathfinder:cols=1000,rows=20,pyramid_height=5 backprop:n=65536 srad:rows=1024,cols=1024,iterations=4; do
		run --gpu v100-pcie --workload $program
		machine=$(value kernel_ns)
		run --gpu ./sand.gpu --workload $program --policy preset=uvmsmart,prefetch=tbn,batch=$batch
		counted "print v[\"kernel_ns\"] / $machine"
	done | awk -v row="| sand_fault | $change |" '
		{e = $1 - 1; sum += e < 0 ? -e : e; all = all sprintf(" %.2f |", $1)} END {printf "%s %.1f %% |%s\n", row, 100 * sum / NR, all}'
}
sand_fault() {
	sand 'block_ns=45000, batch=1' 1 block_ns=45000
	sand 'block_ns=20000, batch=1' 1 block_ns=20000
	sand 'block_ns=45000, batch=256' 256 block_ns=45000
	sand 'a lock for the MSHRs' 1 mshr_entries=0 retires_idle=0
	sand 'no key of UVM Smart' 1 mshr_entries=0 frees_at_start=0 keeps_faults=0 queues_copies=0 holds_memory=0 lists_arrivals=0 retires_idle=0 coalesces=0 data_on_cpu=0 rounds_ranges=0
}
allen_stale() {
	for keys in 'fault_write_ns=12 utlb_faults=16' 'fault_write_ns=3 utlb_faults=16' 'fault_write_ns=12 utlb_faults=56' 'fault_write_ns=3 utlb_faults=56' 'fault_write_ns=3 utlb_faults=56 lock_holds=1' 'fault_write_ns=1 utlb_faults=56' 'fault_write_ns=3 utlb_faults=56 interrupt_ns=12000'; do
		# shellcheck disable=SC2086 # several keys
		model stale.gpu titan-v $keys
		for each in none density; do
			for program in regular random; do
				run --gpu ./stale.gpu --workload $program:bytes=1g,passes=1 --policy prefetch=$each
				counted 'printf "%.3f %.0f\n", v["faults_raw"] / 262144, v["kernel_ns"] / 1e6'
			done
		done | awk -v row="| allen_stale | $(echo $keys | sed 's/ /, /g') |" '
			{all = all " " $1 " |"; ms = ms " " $2 " |"} END {print row all ms}'
	done
}
for name in "$@"; do $name; done
# a run that failed in a pipeline
[ ! -f failed ]
