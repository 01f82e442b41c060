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
# Prints KEY=VALUE for each cost of the driver in x86-2017.host at PERCENT: those that host_percent draws by one factor. Costs that
# match EXCEPT are left out.
hostcosts() { # PERCENT [EXCEPT]
	awk -v percent="$1" -v except="^(launch|replay${2:+|$2})_ns" '
		/^[a-z_]+_ns = / && $1 !~ except {printf "%s=%.0f ", $1, $3 * percent / 100}' \
		"$here/../../adapters/simulator/models/x86-2017.host"
}
# Times of 128 MB by threads and by warps, prefetched and copied.
streamtimes() { # GPU
	for kernel in stream_thread:bytes=128m stream_warp:bytes=128m stream_thread:bytes=128m,move=prefetch \
		stream_thread:bytes=128m,move=copy; do
		run --gpu "$1" --workload "$kernel,grid=1024,type_bytes=8"
		value time_ns
	done
}
# Tiles of 32 MiB: one stream, naive and optimized order at weight 10,000; the optimized order and its two parts at 40,000.
tiletimes() { # GPU
	for each in single,weight=10000 naive,weight=10000 optimized,weight=10000 optimized,weight=40000 compute,weight=40000 \
		move,weight=40000; do
		run --gpu "$1" --workload "tiles:tile=32m,order=$each"
		value time_ns
	done
}
# Remote accesses of the rows' trace with access counters; all of them without.
remotes() { # COUNTERS KEY=VALUE...
	counters=$1
	shift
	model host.gpu v100-pcie "$@"
	awk -f "$here/sparse.awk" >sparse.trace
	run --gpu ./host.gpu --trace sparse.trace --policy "counters=$counters"
	value remote_accesses
}
# Hosts for the PCIe machines, which the blog does not name.
blog_host() {
	nvlink=$(streamtimes p100-nvlink | paste -sd ' ' -)
	all=$(remotes off)
	while IFS='|' read -r change keys; do
		# shellcheck disable=SC2086 # several keys
		model host.gpu p100-pcie $keys
		{
			streamtimes ./host.gpu
			tiletimes ./host.gpu
			# shellcheck disable=SC2086
			remotes on $keys
		} | awk -v row="| blog_host | $change |" -v nvlink="$nvlink" -v all="$all" '
			function verdict(is_so) {return is_so ? "yes" : "no"}
			{t[NR] = $1}
			END {
				split(nvlink, n, " ")
				ideal = t[9] > t[10] ? t[9] : t[10]
				printf "%s %.2f | %.2f | %.2f | %.1f | %.2f | %s | %s | %.2f | %s | %s |\n", row, 134217728 / t[1], 134217728 / t[3],
					134217728 / t[4], 100 - 100 * t[4] / t[2], t[1] / t[2], verdict(t[1] > t[3] && t[3] > t[4]),
					verdict(n[1] / n[4] > t[1] / t[4]), t[8] / ideal, verdict(t[7] < t[6] && t[7] < t[5]), verdict(t[11] >= 992 && t[11] < all)
			}'
	done <<-END
		all costs at 75 %|$(hostcosts 75)
		all costs at 100 %|$(hostcosts 100)
		all costs at 125 %|$(hostcosts 125)
		all costs at 150 %|$(hostcosts 150)
		all costs at 160 %|$(hostcosts 160)
		all costs at 175 %|$(hostcosts 175)
		unmap_page_ns=85|unmap_page_ns=85
		unmap_page_ns=255|unmap_page_ns=255
		unmap_page_ns=340|unmap_page_ns=340
		unmap_page_ns=380|unmap_page_ns=380
		seven other costs doubled|batch_ns=5000 block_ns=3000 unmap_ns=5000 copy_ns=600 map_ns=3000 fetch_ns=400 order_ns=140
	END
}
# Hosts for the row of prefetches over PCIe, which alone may miss its published bandwidth.
blog_prefetched() {
	while IFS='|' read -r change keys; do
		# shellcheck disable=SC2086 # several keys
		model host.gpu p100-pcie $keys
		streamtimes ./host.gpu | awk -v row="| blog_prefetched | $change |" '
			{t[NR] = $1}
			END {printf "%s %.2f | %.2f | %.2f |\n", row, 134217728 / t[1], 134217728 / t[3], 134217728 / t[4]}'
	done <<-END
		as the model|$(hostcosts 100)
		all costs at 160 %|$(hostcosts 160)
		all costs doubled except fetch_ns and order_ns|$(hostcosts 200 'fetch|order')
		all costs doubled except fetch_ns and order_ns, which are halved|$(hostcosts 200 'fetch|order') fetch_ns=100 order_ns=35
	END
}
# The host of the Minsky: how far a warp per page is short of a copy, and the time of nvprof's fault groups.
blog_minsky() {
	for percent in 100 125 140 145 150 175 200; do
		# shellcheck disable=SC2046 # several keys
		model host.gpu p100-nvlink $(hostcosts $percent)
		short=$(for kernel in stream_warp:bytes=1g stream_thread:bytes=1g,move=copy; do
			run --gpu ./host.gpu --workload $kernel,grid=1024,type_bytes=8
			value time_ns
		done | awk '{t[NR] = $1} END {printf "%.1f", 100 - 100 * t[2] / t[1]}')
		# shellcheck disable=SC2046
		model profiled.gpu p100-nvlink $(hostcosts $percent) pipelines_copies=0
		run --gpu ./profiled.gpu --workload stream_thread:bytes=64m,grid=1024,type_bytes=8
		counted "printf \"| blog_minsky | all costs at $percent %% | $short | %.2f |\\n\", v[\"batches\"] * v[\"batch_ns_mean\"] / 1e6"
	done
}
