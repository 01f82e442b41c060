# NVIDIA's blog of 2017, and SAND2022-1528. Sourced by ../experiments.sh.
# shellcheck shell=sh
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
blog_short() {
	while read -r keys; do
		for gpu in p100-pcie p100-nvlink; do
			# shellcheck disable=SC2086 # several keys
			model short.gpu $gpu $keys
			for move in stream_warp:bytes=128m stream_thread:bytes=128m,move=copy; do
				run --gpu ./short.gpu --workload $move
				value time_ns
			done
		done | awk -v row="| blog_short | $keys |" '{t[NR] = $1} END {printf "%s %.1f | %.1f |\n", row, 100 - 100 * t[2] / t[1], 100 - 100 * t[4] / t[3]}'
	done <<-'END'
		utlb_faults=4
		utlb_faults=16
		batch_ns=42500
		block_ns=6000
		unmap_page_ns=340
		fault_ns=1000
	END
}
