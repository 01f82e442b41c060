# deepMoE's cache of experts, and Forest's gains. Sourced by ../experiments.sh.
# shellcheck shell=sh
moe_law() {
	for law in experts=384,skew=120,reuse=20 experts=384,skew=140,reuse=10 experts=384,skew=160,reuse=0 experts=256,skew=100,reuse=20 \
		experts=192,skew=80,reuse=20 experts=128,skew=60,reuse=20; do
		for memory in 14M 28M 58M 86M 144M; do
			run --workload moe:layers=8,shared=4k,active=6,expert=96k,tokens=1000,$law --memory $memory --policy prefetch=none,evict=lru4k
			counted 'print 100 * v["far_faults"] / (1000 * 8 * 6 * 24)'
		done | awk -v row="| moe_law | $law |" '{row = row sprintf(" %.1f |", $1)} END {print row}'
	done
}
fo_programs() {
	for program in bfs_twc:scale=17,degree=16 nw:n=2048 sssp:nodes=655360 hotspot:n=1024 srad:rows=1024,cols=1024,iterations=4 \
		stencil:n=1024,iterations=4 backprop:n=131056; do
		for oversub in 125 150 200; do
			for preset in nvidia-595 forest; do
				run --gpu titan-v --workload $program --oversub $oversub --policy preset=$preset
				value time_ns
			done
		done | awk -v row="| fo_programs | $program |" \
			'{t[NR] = $1} END {for (i = 1; i < NR; i += 2) row = row sprintf(" %.2f |", t[i] / t[i + 1]); print row}'
	done
}
fo_fault() {
	for cost in 0 45000; do
		model fault.gpu titan-v block_ns=$cost
		for batch in 256 1; do
			for preset in nvidia-595 forest; do
				run --gpu ./fault.gpu --workload sssp:nodes=655360 --oversub 150 --policy preset=$preset,batch=$batch
				value time_ns
			done | awk -v row="| fo_fault | block_ns=$cost, batch=$batch |" '{t[NR] = $1} END {printf "%s %.2f |\n", row, t[1] / t[2]}'
		done
	done
}
