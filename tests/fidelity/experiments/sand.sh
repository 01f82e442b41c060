# SAND2022-1528. Sourced by ../experiments.sh.
# shellcheck shell=sh
sand_programs='rodinia_bfs:nodes=4096 hotspot:n=30,pyramid_height=6,sim_time=40 pathfinder:cols=1000,rows=20,pyramid_height=5
	backprop:n=65536 srad:rows=1024,cols=1024,iterations=4'
sand() { # CHANGE BATCH KEY=VALUE...
	change=$1 batch=$2
	shift 2
	model sand.gpu v100-sand "$@"
	for program in $sand_programs; do
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
	sand 'block_ns=30000, batch=1' 1 block_ns=30000
	sand 'block_ns=50000, batch=1' 1 block_ns=50000
	sand 'block_ns=45000, batch=256' 256 block_ns=45000
	sand 'a lock for the MSHRs' 1 mshr_entries=0 retires_idle=0
	sand 'no key of UVM Smart' 1 mshr_entries=0 frees_at_start=0 keeps_faults=0 queues_copies=0 holds_memory=0 lists_arrivals=0 \
		retires_idle=0 coalesces=0 data_on_cpu=0 rounds_ranges=0
}
# The other rows with the same times of a fault: distances of four prefetchers, and the two shootdowns.
sand_order() {
	for latency in 20000 30000 45000 50000; do
		model whole.gpu v100-sand block_ns=$latency
		model entry.gpu v100-sand block_ns=$latency tlb_shootdown=entry
		for program in $sand_programs; do
			run --gpu v100-pcie --workload $program
			value kernel_ns
			for prefetch in none random sl tbn; do
				run --gpu ./whole.gpu --workload $program --policy preset=uvmsmart,prefetch=$prefetch
				value kernel_ns
			done
			counted 'print v["tlb_hits"] / (v["tlb_hits"] + v["tlb_misses"])'
			run --gpu ./entry.gpu --workload $program --policy preset=uvmsmart
			counted 'print v["kernel_ns"]; print v["tlb_hits"] / (v["tlb_hits"] + v["tlb_misses"])'
		done | awk -v row="| sand_order | block_ns=$latency |" '
			{t[(NR - 1) % 8] = $1}
			NR % 8 == 0 {
				for (i = 1; i <= 4; i++)
					distance[i] += log(t[i] / t[0]) ^ 2
				more += t[7] > t[5]
				ratio = t[6] / t[4]
				if (NR == 8 || ratio < least) least = ratio
				if (NR == 8 || ratio > most) most = ratio
			}
			END {
				printf "%s %.2f | %.2f | %.2f | %.2f | %s | %d | %.3f | %.3f |\n", row, distance[1], distance[2], distance[3],
					distance[4], distance[4] < distance[3] ? "yes" : "no", more, least, most
			}'
	done
}
