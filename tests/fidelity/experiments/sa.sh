# SpecAsync-UVM's programs on an RTX 5070 Ti. Sourced by ../experiments.sh.
# shellcheck shell=sh
# Time in ms and faults of STREAM, stencil and cuFFT of the least size. All data begin on the CPU.
sa_costs() {
	while IFS='|' read -r change keys; do
		# shellcheck disable=SC2086 # several keys
		model sa.gpu rtx-5070-ti data_on_cpu=1 $keys
		printf '| sa_costs | %s |' "$change"
		for program in stream:bytes=512m,passes=1 stencil:n=8192,tile=16,iterations=1 cufft:scale=26; do
			run --gpu ./sa.gpu --workload $program
			counted 'printf " %.0f | %d |", v["time_ns"] / 1e6, v["far_faults"]'
		done
		echo
	done <<-END
		as shipped|
		all costs at 50 %|$(hostcosts 50)
		all costs at 200 %|$(hostcosts 200)
		link pcie4|link=pcie4
		link nvlink-c2c|link=nvlink-c2c
		utlb_faults=8|utlb_faults=8
		sms_per_utlb=10|sms_per_utlb=10
		pipelines_copies=1|pipelines_copies=1
	END
}
