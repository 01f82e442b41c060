# NVIDIA's blog of 2017. Sourced by ../experiments.sh.
# shellcheck shell=sh
minsky() { # CHANGE GPU WORKLOAD
	run --gpu $2 --workload $3
	counted 'print v["h2d_copies"], v["h2d_bytes"] / v["h2d_copies"] / 1024, v["h2d_most_bytes"] / 1024,
		v["batches"], v["batch_faults_most"]' | means "| $name | $1 |" %.0f
}
blog_utlb() {
	for each in 2 4 8 16; do
		model nvlink.gpu p100-nvlink pipelines_copies=0 utlb_faults=$each
		minsky utlb_faults=$each ./nvlink.gpu stream_thread:bytes=64m,grid=1024,type_bytes=8
	done
}
# Launches and types of the two kernels; the first one is that of the rows. The rates of all of them are in blog_rates; those in
# `launches` miss none of the three published rates.
launches='grid=1024,type_bytes=8 grid=112 grid=28 grid=168 grid=1024 grid=2048,block=512,type_bytes=8'
slower='grid=448,block=256 grid=256,block=256 grid=512,block=256,type_bytes=8 grid=64,block=256 grid=896,block=128'
blog_rates() {
	for launch in $launches $slower; do
		for move in '' ,move=prefetch ,move=copy; do
			run --gpu p100-pcie --workload stream_thread:bytes=128m,$launch$move
			counted 'printf "%.2f\n", 134217728 / v["time_ns"]'
		done | paste -sd '|' - | sed "s/|/ | /g; s/^/| blog_rates | $launch | /; s/$/ |/"
	done
}
blog_grid() { # nvprof records each run of pages
	model profiled.gpu p100-nvlink pipelines_copies=0
	for launch in $launches; do
		run --gpu ./profiled.gpu --workload stream_thread:bytes=64m,$launch
		thread=$(counted 'printf "%.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f", v["h2d_copies"],
			v["h2d_bytes"] / v["h2d_copies"] / 1024, v["h2d_least_bytes"] / 1024, v["h2d_most_bytes"] / 1024,
			v["batches"], v["batch_faults_most"], v["batches"] * v["batch_ns_mean"] / 1e6')
		run --gpu ./profiled.gpu --workload stream_warp:bytes=64m,$launch
		counted "printf \"| blog_grid | $launch | $thread | %.2f | %.0f |\\n\", v[\"faults_raw\"] / v[\"far_faults\"], v[\"batches\"]"
	done
}
# One line: the times of 128 MB on demand, by warps, prefetched and copied on each of the three machines.
streams() { # LAUNCH
	model v100.gpu v100-pcie pipelines_copies=1
	for gpu in p100-pcie p100-nvlink ./v100.gpu; do
		for kernel in stream_thread stream_warp stream_thread,move=prefetch stream_thread,move=copy; do
			case $kernel in *,*) move=,${kernel#*,} ;; *) move= ;; esac
			run --gpu $gpu --workload ${kernel%,*}:bytes=128m,$1$move
			value time_ns
		done
	done | paste -sd ' ' -
}
blog_launch() {
	for launch in $launches; do
		streams $launch | awk -v launch="$launch" '{
			best = $1 / $2 > $5 / $6 ? $1 / $2 : $5 / $6
			if ($9 / $10 > best) best = $9 / $10
			printf "| blog_launch | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f | %.1f |\n", launch,
				134217728 / $1, 134217728 / $3, 134217728 / $4, $1 / $4, $5 / $8, best, 100 - 100 * $4 / $2, 100 - 100 * $8 / $6
		}'
	done
}
blog_tiles() {
	for weight in 1 5000 10000 12000 16000 20000 40000 80000; do
		for order in single naive optimized compute move; do
			run --gpu p100-pcie --workload tiles:order=$order,weight=$weight
			value time_ns
		done | awk -v row="| blog_tiles | weight $weight |" '
			{t[NR] = $1}
			END {
				printf "%s %.2f | %.2f | %.2f | %.2f | %.2f |\n", row, t[2] / t[3], t[2] / t[1], t[3] / t[1],
					t[4] / t[5], t[3] / (t[4] > t[5] ? t[4] : t[5])
			}'
	done
}
# Hosts: how far a warp per page is short of a copy, and what else they change.
blog_short() {
	while IFS='|' read -r change keys; do
		for gpu in p100-pcie p100-nvlink; do
			# shellcheck disable=SC2086 # several keys
			model short.gpu $gpu $keys
			for kernel in stream_warp:bytes=128m stream_thread:bytes=128m stream_thread:bytes=128m,move=copy; do
				run --gpu ./short.gpu --workload $kernel,grid=1024,type_bytes=8
				value time_ns
			done
		done | awk -v row="| blog_short | $change |" '
			{t[NR] = $1}
			END {
				printf "%s %.1f | %.1f | %.2f | %.2f | %.2f |\n", row, 100 - 100 * t[3] / t[1], 100 - 100 * t[6] / t[4],
					134217728 / t[2], t[2] / t[1], t[5] / t[4]
			}'
	done <<-'END'
		as the model|utlb_faults=4
		pipelines_copies=0|pipelines_copies=0
		utlb_faults=1|utlb_faults=1
		utlb_faults=16|utlb_faults=16
		fetch_ns=100|fetch_ns=100
		block_ns=6000|block_ns=6000
		block_ns=9000|block_ns=9000
		block_ns=12000|block_ns=12000
		unmap_ns=10000|unmap_ns=10000
		unmap_page_ns=340|unmap_page_ns=340
		20 us for each new root|alloc_roots=1 alloc_ns=20000
		50 us for each new root|alloc_roots=1 alloc_ns=50000
	END
}
