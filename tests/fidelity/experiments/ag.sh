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
ag_batch() {
	for bytes in 32m 64m 128m 256m 512m; do
		for program in regular random; do
			for batch in 16 64 256 1024; do
				run --gpu titan-v --workload $program:bytes=$bytes,passes=1,threads=64 --policy prefetch=none,batch=$batch
				counted 'print v["time_ns"], (v["service_ns"] + v["migrate_ns"]) / v["far_faults"], v["batch_ns_median"]'
			done
		done | awk -v row="| ag_batch | bytes=$bytes |" '
			{time[NR] = $1; page[NR] = $2; median[NR] = $3}
			END {
				printf "%s %.2f | %.2f | %.2f |", row, time[1] / time[4], time[5] / time[8], time[5] * time[4] / time[8] / time[1]
				print (page[8] < page[7] && page[7] < page[6] && page[6] < page[5] ? " yes |" : " no |") \
					(median[8] > median[7] && median[7] > median[6] ? " yes |" : " no |")
			}'
	done
}
ag_left() {
	for keys in utlb_faults=56 utlb_faults=16 utlb_faults=4 utlb_faults=1 fault_write_ns=50 lock_holds=0; do
		model left.gpu titan-v-logged $keys
		for program in regular:bytes=64m,passes=1 random:bytes=64m,passes=1 stream:bytes=24m,passes=1 tealeaf:n=500; do
			for policy in prefetch=none prefetch=density; do
				run --gpu ./left.gpu --workload $program --policy $policy
				value faults_raw
			done
		done | awk -v row="| ag_left | $keys |" \
			'{f[NR] = $1} END {for (i = 1; i < NR; i += 2) row = row sprintf(" %.2f |", 100 * f[i + 1] / f[i]); print row}'
	done
}
# Entries of TeaLeaf for each page that is serviced, without prefetching, under the keys of ag_left.
ag_tealeaf() {
	for keys in utlb_faults=56 utlb_faults=16 utlb_faults=4 utlb_faults=1 fault_write_ns=50 lock_holds=0; do
		model tealeaf.gpu titan-v-logged $keys
		for n in 500 1000; do
			run --gpu ./tealeaf.gpu --workload tealeaf:n=$n --policy prefetch=none
			counted 'printf "%.2f\n", v["faults_raw"] / v["faults_serviced"]'
		done | awk -v row="| ag_tealeaf | $keys |" '{row = row " " $1 " |"} END {print row}'
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
	while read -r base keys; do
		# shellcheck disable=SC2086 # several keys
		model stale.gpu $base $keys
		for each in none density; do
			for program in regular random; do
				run --gpu ./stale.gpu --workload $program:bytes=1g,passes=1 --policy prefetch=$each
				counted 'printf "%.3f %.0f\n", v["faults_raw"] / 262144, v["kernel_ns"] / 1e6'
			done
		done | awk -v row="| allen_stale | $(echo $base $keys | sed 's/ /, /g') |" '
			{all = all " " $1 " |"; ms = ms " " $2 " |"} END {print row all ms}'
	done <<-'END'
		titan-v
		titan-v fault_write_ns=3
		titan-v utlb_faults=56
		titan-v fault_write_ns=3 utlb_faults=56
		titan-v fault_write_ns=3 utlb_faults=56 lock_holds=1
		titan-v fault_write_ns=1 utlb_faults=56
		titan-v fault_write_ns=3 utlb_faults=56 interrupt_ns=12000
		titan-v-logged
		titan-v-logged fault_write_ns=3
		titan-v-logged fault_write_ns=50
		titan-v-logged lock_holds=0
	END
}
# left ROW: of counts that come in twos, without and with prefetching, in percent
left() {
	awk -v row="$1" \
		'{f[NR] = $1} END {for (i = 1; i < NR; i += 2) row = row sprintf(" %.2f |", 100 * f[i + 1] / f[i]); print row}'
}
ag_programs() {
	for keys in utlb_faults=56 utlb_faults=16 utlb_faults=4 fault_write_ns=3 fault_write_ns=50 lock_holds=0; do
		model programs.gpu titan-v-logged $keys
		for program in cufft:scale=20 hpgmg:box=5 cusparse:n=2048 sgemm:n=2048,transb=0; do
			for policy in prefetch=none prefetch=density; do
				run --gpu ./programs.gpu --workload $program --policy $policy
				value faults_raw
			done
		done | left "| ag_programs | $keys |"
	done
}
ag_sizes() {
	for program in hpgmg:box=4 hpgmg:box=5 hpgmg:box=5,smooths=3 hpgmg:box=5,cycles=3 hpgmg:box=4,boxes=4 \
		cusparse:n=2048 cusparse:n=4096 cusparse:n=2048,sparsity=30 cusparse:n=2048,columns=64; do
		for policy in prefetch=none prefetch=density; do
			run --gpu titan-v-logged --workload $program --policy $policy
			value faults_raw
		done | awk -v row="| ag_sizes | $program |" \
			'{f[NR] = $1} END {printf "%s %d | %d | %.2f |\n", row, f[1], f[2], 100 * f[2] / f[1]}'
	done
}
# Kernels that cuBLAS may use for a product without transposition, as the authors call it, after that of the rows.
sgemm_kernels='tile=512,panel=1024 tile=128,transb=0 tile=128,transb=0,raster=1 tile=64,transb=0 tile=256,transb=0'
# Entries a page of the data without and with prefetching, and serviced ones.
ag_sgemm() {
	for kernel in $sgemm_kernels; do
		for policy in prefetch=none prefetch=density; do
			run --gpu titan-v-logged --workload sgemm:n=4096,$kernel --policy $policy
			counted 'printf "%.3f\n%.3f\n", v["faults_raw"] / 49152, v["faults_serviced"] / 49152'
		done | awk -v row="| ag_sgemm | $kernel |" '{f[NR] = $1} END {print row, f[1], "|", f[3], "|", f[4], "|"}'
	done
}
ag_panels() {
	for kernel in $sgemm_kernels; do
		for memory in 190M 174M 160M 146M 135M 88M; do
			run --gpu titan-v --memory $memory --workload sgemm:n=4096,$kernel
			counted 'printf "%.2f %.3f %d\n", v["pages_evicted"] / 49152, v["faults_raw"] / 49152, v["time_ns"]'
		done | awk -v row="| ag_panels | $kernel |" '
			{row = row " " $1 "; " $2 " |"; t[NR] = $3}
			END {printf "%s %s | %.2f |\n", row, t[1] < t[2] && t[2] < t[3] ? "yes" : "no", t[4] / t[3]}'
	done
}
# Entries without and with prefetching, and the share that is left.
ag_cufft() {
	for program in scale=22 scale=22,radix=6 scale=22,radix=12 scale=21,out=1 scale=21,work=1; do
		for policy in prefetch=none prefetch=density; do
			run --gpu titan-v-logged --workload cufft:$program --policy $policy
			value faults_raw
		done | awk -v row="| ag_cufft | $program |" \
			'{f[NR] = $1} END {printf "%s %d | %d | %.2f |\n", row, f[1], f[2], 100 * f[2] / f[1]}'
	done
}
# Programs at small sizes: entries a page without prefetching.
ag_merges() {
	while read -r name keys; do
		# shellcheck disable=SC2086 # several keys
		model merges.gpu $name $keys
		for program in regular:bytes=64m,passes=1,threads=64 random:bytes=64m,passes=1,threads=64 stream:bytes=24m,passes=1 \
			tealeaf:n=512 hpgmg:box=5,boxes=1; do
			run --gpu ./merges.gpu --workload $program --policy prefetch=none
			counted 'printf "%.2f\n", v["faults_raw"] / v["faults_serviced"]'
		done | awk -v row="| ag_merges | $name${keys:+, $keys} |" '{row = row " " $1 " |"} END {print row}'
	done <<-'END'
		titan-v
		titan-v-logged utlb_merges=0
		titan-v-logged sms_per_utlb=1
		titan-v-logged
	END
}
ag_random() {
	while read -r name base keys; do
		# shellcheck disable=SC2086 # several keys
		model random.gpu $base $keys
		for bytes in 128 256 512; do
			run --gpu ./random.gpu --memory $((bytes * 743 / 2048))M --workload random:bytes=${bytes}m,passes=1
			counted "printf \"%.2f\\n\", v[\"h2d_bytes\"] / $bytes / 1048576"
		done | awk -v row="| ag_random | $name${keys:+, $keys} |" '{row = row " " $1 " |"} END {print row}'
	done <<-'END'
		titan-v titan-v
		titan-v titan-v utlb_faults=4
		titan-v titan-v utlb_faults=56
		titan-v titan-v lock_holds=1
		titan-v-logged titan-v-logged
		titan-v-logged titan-v-logged lock_holds=0
	END
}
ag_replay() {
	while read -r name keys; do
		# shellcheck disable=SC2086 # several keys
		model replay.gpu $name $keys
		for program in regular random; do
			for bytes in 64m 256m; do
				run --gpu ./replay.gpu --workload $program:bytes=$bytes,passes=1 --policy prefetch=none
				counted 'handling = v["fetch_ns"] + v["order_ns"] + v["service_ns"] + v["migrate_ns"] + v["map_ns"]
					printf "%.1f\n", 100 * v["replay_ns"] / (handling + v["replay_ns"])'
			done
		done | awk -v row="| ag_replay | $name${keys:+, $keys} |" '{row = row " " $1 " |"} END {print row}'
	done <<-'END'
		titan-v-logged
		titan-v-logged utlb_faults=16
		titan-v-logged flush_ns=20000
		titan-v-logged flush_entry_ns=200
		titan-v-logged block_ns=0
		titan-v
	END
}
ag_counts() {
	for oversub in 110 120 150 200; do
		for policy in preset=nvidia-595 preset=access-lru preset=access-lfu; do
			run --gpu titan-v --oversub $oversub --workload cusparse:n=2048 --policy $policy
			value pages_evicted
		done | awk -v row="| ag_counts | $oversub % |" '{row = row " " $1 " |"} END {print row}'
	done
}
ag_rival() {
	run --gpu titan-v --workload stream_thread:bytes=5g,move=copy
	copy=$(value time_ns)
	while read -r threads keys; do
		# shellcheck disable=SC2086 # several keys
		model rival.gpu titan-v $keys
		for policy in threshold=1 prefetch=none threshold=51; do
			run --gpu ./rival.gpu --workload regular:bytes=5g,passes=1,threads=$threads --policy $policy
			value time_ns
		done | awk -v row="| ag_rival | threads=$threads${keys:+, $keys} |" -v copy="$copy" '
			{row = row sprintf(" %.2f |", $1 / copy)} END {print row}'
	done <<-'END'
		64
		256
		1024
		64 fault_ns=1200
		64 fault_ns=0
		64 replay_ns=0 flush_ns=0 flush_entry_ns=0
		64 utlb_faults=4
		64 utlb_faults=1
	END
}
# Entries a page of 256 MiB on demand, with each time and limit of the model by itself times 0, 0.1, 4 and 20; -: out of its limits.
# Keys that change nothing are counted in the last line.
ag_scan() {
	models=$here/../../adapters/simulator/models
	awk '/^([a-z0-9_]+_ns|utlb_faults|fault_entries|clock_mhz|zero_mb_s|memory_mb_s) = / && !seen[$1]++ {print $1, $3}' \
		"$models/titan-v-logged.gpu" "$models/titan-v.gpu" "$models/x86-2017.host" >keys
	while read -r field number; do
		for factor in 0 0.1 4 20; do
			model scan.gpu titan-v-logged "$field=$(awk "BEGIN {printf \"%.0f\", $number * $factor}")"
			# In a subshell: a value that the model refuses ends it.
			(run --gpu ./scan.gpu --workload regular:bytes=256m,passes=1,threads=64 --policy prefetch=none 2>/dev/null) || {
				rm failed
				echo faults_raw - >counts
			}
			value faults_raw
		done | awk -v row="| ag_scan | $field ($number) |" '
			{row = row ($1 == "-" ? " - |" : sprintf(" %.2f |", $1 / 65536))} END {print row}'
	done <keys | awk '
		{figures = $0; gsub(/.*[)] [|]| [|]|-/, "", figures); same = 1
		 n = split(figures, f, " "); for (i = 2; i <= n; i++) same = same && f[i] == f[1]}
		same && n {others++; last = f[1]; next}
		{print}
		END {printf "| ag_scan | %d other keys | %s | %s | %s | %s |\n", others, last, last, last, last}'
}
# What fetching, ordering and skipping an entry cost together (370 ns), split otherwise.
ag_split() {
	while IFS='|' read -r change keys threads; do
		# shellcheck disable=SC2086 # several keys
		model split.gpu titan-v-logged $keys
		run --gpu ./split.gpu --workload regular:bytes=1g,passes=1,threads=$threads --policy prefetch=none
		counted "pre = v[\"fetch_ns\"] + v[\"order_ns\"]
			all = pre + v[\"service_ns\"] + v[\"migrate_ns\"] + v[\"map_ns\"] + v[\"replay_ns\"]
			printf \"| ag_split | $change | %.2f |\\n\", 100 * pre / all"
	done <<-'END'
		fetch_ns=200 order_ns=70 skip_ns=100|fetch_ns=200 order_ns=70 skip_ns=100|64
		fetch_ns=150 order_ns=70 skip_ns=150|fetch_ns=150 order_ns=70 skip_ns=150|64
		fetch_ns=100 order_ns=70 skip_ns=200|fetch_ns=100 order_ns=70 skip_ns=200|64
		fetch_ns=100 order_ns=35 skip_ns=235|fetch_ns=100 order_ns=35 skip_ns=235|64
		as the model, 256 threads in a block|fetch_ns=200|256
	END
}
