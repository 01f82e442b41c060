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
us_spared() {
	model spared.gpu uvmsmart block_ns=0
	for percent in 0 4 6 8 10 12 14 16 18 20 22; do
		run --gpu ./spared.gpu --memory 16744448 --workload backprop:n=131056 --policy preset=uvmsmart,evict=tbne,reserve=$percent
		echo "| us_spared | reserve=$percent | $(value pages_evicted) |"
	done
}
us_latency() {
	for latency in 250 350 450; do
		model latency.gpu uvmsmart block_ns=0 memory_latency_ns=$latency
		while read -r memory key policy; do
			run --gpu ./latency.gpu --memory "$memory" --workload rodinia_bfs:nodes=261444,edges=1568420 --policy "preset=$policy"
			value "$key"
		done <<-END | awk -v row="| us_latency | memory_latency_ns=$latency |" '{row = row sprintf(" %d |", $1)} END {print row}'
		6291456 far_faults uvmsmart,evict=lru2m
		6291456 pages_migrated uvmsmart,evict=lru2m
		9297920 far_faults uvmsmart,evict=tbne
		9297920 far_faults uvmsmart,evict=tbne,reserve=10
		8179712 far_faults uvmsmart-oversub
		1024M far_faults uvmsmart-always,remote_threshold=32
		1024M remote_accesses uvmsmart-always,remote_threshold=32
		END
	done
}
us_remote() {
	backprop=backprop:n=131056 bfs=rodinia_bfs:nodes=261444,edges=1568420
	for keys in walk_ns=68 walk_ns=17 walk_ns=34 walk_ns=136 walk_ns=272 coalesces=0; do
		model remote.gpu uvmsmart block_ns=0 $keys
		while read -r workload memory key policy; do
			run --gpu ./remote.gpu --workload "$workload" --memory "$memory" --policy "preset=$policy"
			value "$key"
		done <<-END | awk -v row="| us_remote | $keys |" '{row = row sprintf(" %d |", $1)} END {print row}'
		$backprop 1024M remote_accesses uvmsmart-always
		$bfs 1024M remote_accesses uvmsmart-always
		$bfs 1024M remote_accesses uvmsmart-always,remote_threshold=32
		$bfs 1024M far_faults uvmsmart-always,remote_threshold=32
		$bfs 8179712 far_faults uvmsmart-oversub
		$bfs 6291456 far_faults uvmsmart,evict=lru2m
		$bfs 9297920 far_faults uvmsmart,evict=tbne
		END
	done
}
