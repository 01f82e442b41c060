# Allen & Ge 2021 (Titan V), at smaller sizes. Sourced by ../experiments.sh.
# shellcheck shell=sh
ag_linear() {
	while read -r batch keys; do
		# shellcheck disable=SC2086 # several keys
		model linear.gpu titan-v-logged $keys
		for bytes in 64m 256m; do
			run --gpu ./linear.gpu --workload random:bytes=$bytes,passes=1 --policy prefetch=none,batch=$batch
			value time_ns
		done | awk -v row="| ag_linear | batch=$batch${keys:+, $keys} |" '{t[NR] = $1} END {printf "%s %.2f |\n", row, t[2] / t[1]}'
	done <<-'END'
		256
		32
		16
		256 block_ns=0 copy_ns=0
		256 block_ns=0 copy_ns=0 unmap_ns=0 map_ns=0
	END
}
ag_threshold() {
	for threshold in 1 25 51 75 100; do
		run --gpu titan-v --oversub 200 --workload random:bytes=64m,passes=1 --policy threshold=$threshold
		counted "printf \"| ag_threshold | threshold=$threshold | %.1f | %.0f |\\n\", v[\"time_ns\"] / 1e6, v[\"h2d_bytes\"] / 1048576"
	done
}
ag_left() {
	for keys in utlb_faults=16 utlb_faults=4 utlb_faults=1 fault_write_ns=50; do
		model left.gpu titan-v $keys
		for program in regular:bytes=64m,passes=1 random:bytes=64m,passes=1 stream:bytes=24m,passes=1 tealeaf:n=500; do
			for policy in prefetch=none prefetch=density; do
				run --gpu ./left.gpu --workload $program --policy $policy
				value faults_raw
			done
		done | awk -v row="| ag_left | $keys |" '{f[NR] = $1} END {for (i = 1; i < NR; i += 2) row = row sprintf(" %.2f |", 100 * f[i + 1] / f[i]); print row}'
	done
}
ag_victims() {
	for kernel in tile=512,panel=1024 tile=128,panel=64 tile=512,panel=1024,raster=1 tile=512,panel=1024,transb=0; do
		for policy in preset=nvidia-595 preset=access-lru preset=access-lfu; do
			run --gpu titan-v --oversub 120 --workload sgemm:n=2048,$kernel --policy $policy
			value pages_evicted
		done | awk -v row="| ag_victims | $kernel |" '{row = row " " $1 " |"} END {print row}'
	done
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
