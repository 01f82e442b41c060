# The real GTX 1080 Ti of UVM Smart's artifact. Sourced by ../experiments.sh.
# shellcheck shell=sh
# Bytes and copies in both directions, fault groups and the time of the kernels, of the last run
moved() {
	counted 'print v["h2d_bytes"] / 1048576, v["h2d_copies"], v["d2h_bytes"] / 1048576, v["d2h_copies"],
		v["batches"], v["kernel_ns"] / 1e6'
}
# real WORKLOAD MEMORY GPU ARGUMENT...: bytes and copies in both directions, and groups, mean of three seeds
real() {
	program_run=$1 memory=$2 gpu=$3
	shift 3
	for seed in 1 2 3; do
		run --seed $seed --gpu "$gpu" --memory "$memory" --workload "$program_run" "$@"
		moved
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
			real "${program% *}" ${program#* } gtx-1080-ti --policy batch=$batch |
				means "| ti_batch | ${program%%:*} in ${program#* }iB, batch=$batch |" %.1f
		done
	done
}
ti_latency() { tis memory_spread_ns=0 memory_spread_ns=300 memory_spread_ns=800; }
ti_utlb() { tis utlb_faults=4 utlb_faults=8; }
ti_bfs() {
	for keys in lock_holds=1 memory_latency_ns=600 memory_latency_ns=1200 lock_holds=0; do
		model ti.gpu gtx-1080-ti $keys
		run --gpu ./ti.gpu --memory 6M --workload rodinia_bfs:nodes=261444,edges=1568420
		moved | means "| ti_bfs | $keys |" %.1f
	done
	for graph in nodes=261444,edges=1400000 nodes=261444,edges=1700000 nodes=240000,edges=1568420 nodes=280000,edges=1568420; do
		run --gpu gtx-1080-ti --memory 6M --workload rodinia_bfs:$graph
		moved | means "| ti_bfs | $graph |" %.1f
	done
}
# Time of fault groups over that of the kernels: from the driver's fetch, and from the oldest fault
ti_groups() {
	for each in "backprop:n=131056 16M backprop 100 %" "backprop:n=131056 12M backprop 125 %" "backprop:n=131056 10M backprop 150 %" \
		"$hotspot 10M hotspot 100 %" "$hotspot 6M hotspot 125 and 150 %" "rodinia_bfs:nodes=261444,edges=1568420 6M bfs 100 %"; do
		# shellcheck disable=SC2086 # program, memory and name
		set -- $each
		run --gpu gtx-1080-ti --memory $2 --workload $1
		shift 2
		counted 'print v["batches"] * v["batch_ns_mean"] / v["kernel_ns"], v["batches"] * v["group_ns_mean"] / v["kernel_ns"]' |
			means "| ti_groups | $* |" %.2f
	done
}
