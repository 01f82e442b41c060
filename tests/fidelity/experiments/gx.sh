# gpu_ext (RTX 5090), simulated on an H100. Sourced by ../experiments.sh.
# shellcheck shell=sh
# sequence WORKLOAD OVERSUB POLICY EXPRESSION FORMAT: of the numbers of faults.awk
sequence() {
	run --gpu h100-sxm --workload "$1" --oversub "$2" --policy "$3" --log log
	awk -f "$here/faults.awk" log >counts
	counted "printf \"$5\", $4"
}
gx_prompt() {
	while read -r change; do
		printf '| gx_prompt | %s |' $change
		sequence moe:layers=2,shared=59m,experts=128,active=4,expert=12900k,prompt=512,tokens=0,$change 184 preset=nvidia-595 \
			'v["run_mean"] / 1000, v["run_median"], v["run_1"] / 10, 100 - v["run_ascending"] / 10,
				v["d_backward"] / 10, 100 - v["d_1"] / 10, v["d_2_16"] / 10' \
			' %.2f | %d | %.1f | %.1f | %.1f | %.1f | %.1f |\n'
	done <<-'END'
		tile=2m
		tile=2m,prompts=3
		tile=16k,prompts=3
		tile=4400k,row=1530,loads=16
		tile=4400k,row=1530,loads=16,prompts=3
		tile=4400k,row=1530,loads=4,prompts=3
		tile=4400k,row=1530,loads=2,prompts=3
	END
}
gx_slabs() {
	while read -r change policy; do
		printf '| gx_slabs | %s, %s |' $change $policy
		sequence gnn:scale=15,degree=10,skew=0,features=512,batch=0,chunk=6553,$change 143 $policy \
			'v["d_69"] ? v["d_138"] / v["d_69"] : 0, v["run_mean"] / 1000, 100 - v["run_1"] / 10,
				100 - v["d_65_256"] / 10, v["d_backward"] / 10' \
			' %.2f | %.2f | %.1f | %.1f | %.1f |\n'
	done <<-'END'
		hidden=1024,slab=276k preset=nvidia-595
		hidden=4096,slab=276k preset=nvidia-595
		hidden=1024,slab=138k preset=nvidia-595
		hidden=1024,slab=552k preset=nvidia-595
		hidden=1024,slab=276k batch=32
		hidden=1024,slab=276k replay=block
		hidden=1024,slab=276k prefetch=none
	END
}
# gains GPU WORKLOAD OVERSUB POLICY...: time of the first over that of each other
gains() {
	gpu=$1 program_run=$2 oversub=$3
	shift 3
	for policy in "$@"; do
		run --gpu "$gpu" --workload "$program_run" --oversub "$oversub" --policy "$policy"
		value time_ns
	done | awk '{t[NR] = $1} END {for (i = 2; i <= NR; i++) printf " %.2f |", t[1] / t[i]}'
}
gx_tile() {
	while read -r change key; do
		model tile.gpu h100-sxm $key
		printf '| gx_tile | %s%s |' $change "${key:+, $key}"
		gains ./tile.gpu moe:layers=2,shared=59m,experts=64,active=4,expert=12900k,tokens=10,$change 184 preset=nvidia-595 threshold=1 \
			prefetch=block prefetch=none |
			awk '{$7 = sprintf("%.2f", 1 / $5); $5 = $7; NF = 6; print " " $0}' FS=' ' OFS=' '
	done <<-'END'
		tile=16k
		tile=4k
		tile=1530
		tile=16k fault_ns=4000
		tile=16k batch_ns=20000
	END
}
gx_tokens() {
	for tokens in 10 30 60 128; do
		printf '| gx_tokens | %s tokens |' $tokens
		for policy in preset=nvidia-595 prefetch=block; do
			sequence moe:layers=2,shared=59m,experts=64,active=4,expert=12900k,tokens=$tokens 184 $policy 'v["blk_refault"] / 10' ' %.1f |'
		done
		echo
	done
}
gx_router() {
	for router in skew=120,reuse=20 skew=120,reuse=40 skew=140,reuse=0 skew=140,reuse=20 skew=100,reuse=20; do
		run --workload moe:layers=8,shared=4k,experts=128,active=4,expert=12k,tokens=177,$router
		counted "printf \"| gx_router | $router | %.1f |\\n\", 100 * (1 - (v[\"pages_touched\"] - 8) / 3072)"
	done
}
next=prefetch=next,threshold=1,next_blocks=1,next_percent=1
gx_graph() {
	for change in chunk=6553 chunk=6553,epochs=2 chunk=65536 chunk=200000 chunk=350000; do
		graph=gnn:scale=15,degree=10,skew=0,features=512,hidden=1024,batch=0,$change
		printf '| gx_graph | %s |%s%s\n' $change "$(gains h100-sxm $graph 143 preset=nvidia-595 prefetch=block $next)" \
			"$(gains h100-sxm $graph 217 preset=nvidia-595 prefetch=block)"
	done
}
gx_lists() {
	for lists in lists=32,list=12500k lists=200,list=2m lists=800,list=500k; do
		printf '| gx_lists | %s |' $lists
		gains h100-sxm ivf:$lists,queries=64,probes=16 150 preset=nvidia-595 prefetch=block
		gains h100-sxm ivf:$lists,queries=1,probes=1,add=1 150 prefetch=block $next
		sequence ivf:$lists,queries=1,probes=1,add=1 150 preset=nvidia-595 'v["blk_next"] / 10' ' %.0f |'
		sequence ivf:$lists,queries=64,probes=1 150 preset=nvidia-595 'v["blk_next"] / 10' ' %.0f |\n'
	done
}
gx_server() {
	for change in steps=20 steps=20,block=64k steps=20,sequences=16 steps=20,weights=80m; do
		printf '| gx_server | %s |%s\n' $change "$(gains h100-sxm paged:$change 117 preset=nvidia-595 prefetch=block)"
	done
}
