# UVM Smart's simulator. Sourced by ../experiments.sh.
# shellcheck shell=sh
us_cycle() {
	for cycle in 0 1; do
		model smart.gpu uvmsmart block_ns=0 cycle_batches=$cycle
		backprop=backprop:n=131056 bfs=rodinia_bfs:nodes=261444,edges=1568420
		while read -r workload memory policy; do
			run --gpu ./smart.gpu --workload "$workload" --memory "$memory" --policy "preset=$policy"
			value far_faults
		done <<-END | awk -v row="| us_cycle | cycle_batches=$cycle |" '{row = row sprintf(" %d |", $1)} END {print row}'
		$backprop 1024M uvmsmart
		$backprop 1024M uvmsmart,prefetch=sl
		$backprop 16744448 uvmsmart,evict=lru4k,prefetch_full=none
		$bfs 1024M uvmsmart
		$bfs 1024M uvmsmart,prefetch=sl
		$backprop 1024M uvmsmart-always
		END
	done
}
