#!/bin/sh
# Sequences of faults, held against what gpu_ext recorded: faults.awk computes what it says, the published figures in rows.txt are
# those of the recordings (../shared/traces/gpu_ext, skipped without it), and the workloads differ from each other as the recorded
# programs do. usage: gpu_ext.sh UVMSIM
set -eu
uvmsim=$1
case $uvmsim in /*) ;; *) uvmsim=$PWD/$uvmsim ;; esac
cd "$(dirname "$0")/../.."
f=tests/fidelity
recorded=../shared/traces/gpu_ext
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
bad() {
	echo "FAILED: $1"
	failed=1
}
# Has FILE the line `KEY VALUE`?
has() { # FILE KEY VALUE
	if grep -qx "$2 $3" "$1"; then ok "$2 is $3"; else bad "$2 is $(sed -n "s/^$2 //p" "$1"), not $3"; fi
}

# Three services of two blocks: pages 3,4,9 | 0,69,138 of the next block | evicted, 5 | 7,2 in two batches;
# then two services that evict, and so run twice: 1,2 | 7.
cat >"$work/log" <<'L'
1 copy t=0 cause=demand space=1 block=0x200000 pages=9 from=0 to=1 batch=1
2 populate t=0 cause=demand space=1 block=0x200000 pages=3-4 to=1 batch=1
3 copy t=0 cause=prefetch space=1 block=0x200000 pages=5-8 from=0 to=1 batch=1
4 copy t=0 cause=demand space=1 block=0x400000 pages=0,69,138 from=0 to=1 batch=1
5 evict t=0 cause=evict space=1 block=0x200000 to=0
6 copy t=0 cause=evict space=1 block=0x200000 pages=3-9 from=1 to=0
7 copy t=0 cause=demand space=1 block=0x200000 pages=5 from=0 to=1 batch=2
8 copy t=0 cause=demand space=1 block=0x600000 pages=7 from=0 to=1 batch=2
9 copy t=0 cause=demand space=1 block=0x600000 pages=2 from=0 to=1 batch=3
10 evict t=0 cause=evict space=1 block=0x400000 to=0 for=0x800000
11 copy t=0 cause=demand space=1 block=0x800000 pages=1-2 from=0 to=1 batch=4
12 evict t=0 cause=evict space=1 block=0x600000 to=0 for=0xa00000
13 copy t=0 cause=demand space=1 block=0xa00000 pages=7 from=0 to=1 batch=4
L
awk -f $f/faults.awk "$work/log" >"$work/numbers"
has "$work/numbers" ev_events 15
has "$work/numbers" ev_blocks 5
has "$work/numbers" ev_runs 6
has "$work/numbers" run_mean 2500
has "$work/numbers" run_median 2
has "$work/numbers" run_most 4
has "$work/numbers" run_1 167
has "$work/numbers" run_3 500
has "$work/numbers" run_ascending 500
has "$work/numbers" d_backward 250
has "$work/numbers" d_1 375
has "$work/numbers" d_69 250
has "$work/numbers" d_2_16 250
has "$work/numbers" d_65_256 250
has "$work/numbers" blk_next 600
has "$work/numbers" blk_forward 800
has "$work/numbers" blk_refault 167

# The figure that a row of rows.txt calls published.
published() { awk -F ' [|] ' -v id="row $1" '$1 == id { print $3 }' $f/rows.txt; }
same() { # ROW COMPUTED
	if [ "$(published "$1")" = "$2" ]; then
		ok "row $1 states the recorded $2"
	else
		bad "row $1 states $(published "$1"), recorded is $2"
	fi
}
# Figures of one recording, commas removed; delta 0 is left out, as are the runs that repeat a page only.
figure() { # FILE EXPRESSION
	sed 's/,//g' "$recorded/$1" | awk "
		/^Loaded/ { events = \$2 }
		/^中位数长度/ { sub(/.*: */, \"\"); median = \$0 + 0 }
		/^ *1-1 *:/ { sub(/.*: */, \"\"); one = \$0 + 0 }
		/^找到/ { runs = \$2 }
		/^长度>=2/ { sub(/.*: */, \"\"); several = \$0 + 0 }
		/^ *递增/ { sub(/.*: */, \"\"); ascending = \$0 + 0 }
		/^ *相同页面 .重复/ { sub(/.*: */, \"\"); repeated = \$0 + 0 }
		/^总 diff/ { sub(/.*: */, \"\"); deltas = \$0 + 0 }
		/diff = 0/ { sub(/.*: */, \"\"); zero = \$0 + 0 }
		/diff < 0/ { sub(/.*: */, \"\"); backward = \$0 + 0 }
		/diff= *[0-9]+:/ { key = \$0; sub(/.*diff= */, \"\", key); sub(/:.*/, \"\", key)
			sub(/.*: */, \"\"); delta[key] = \$0 + 0 }
		/^ *2-16/ { sub(/.*: */, \"\"); near = \$0 + 0 }
		/^ *65-256/ { sub(/.*: */, \"\"); far = \$0 + 0 }
		END { moves = deltas - zero; $2 }"
}
if [ -d "$recorded" ]; then
	llama=llama_prefill_fault_sequence_stats.txt torch=pytorch_dnn_fault_sequence_stats.txt
	same gx-run-mean "$(figure $llama 'printf "%.2f", events / runs')"
	same gx-run-median "$(figure $llama 'print median')"
	same gx-run-1 "$(figure $llama 'printf "%.1f", 100 * one / runs')"
	same gx-run-mixed "$(figure $llama 'printf "%.1f", 100 - 100 * ascending / (several - repeated)')"
	same gx-back "$(figure $llama 'printf "%.1f", 100 * backward / moves')"
	same gx-d-more "$(figure $llama 'printf "%.1f", 100 - 100 * delta[1] / moves')"
	same gx-near "$(figure $llama 'printf "%.1f", 100 * near / moves')"
	same gx-gnn-69 "$(figure $torch 'printf "%.1f", 100 * delta[69] / moves')"
	same gx-gnn-138 "$(figure $torch 'printf "%.3f", delta[138] / delta[69]')"
	same gx-gnn-mean "$(figure $torch 'printf "%.2f", events / runs')"
	same gx-gnn-more "$(figure $torch 'printf "%.1f", 100 - 100 * one / runs')"
	same gx-gnn-near "$(figure $torch 'printf "%.1f", 100 - 100 * far / moves')"
	same gx-gnn-back "$(figure $torch 'printf "%.1f", 100 * backward / moves')"
else
	echo "skip the recorded figures: $recorded is not here"
fi

# As recorded: runs of a language model's prompt are longer, its neighbouring pages more frequent; a graph network's thread
# blocks fault 69 pages apart.
run() { # NAME WORKLOAD
	"$uvmsim" run --gpu h100-sxm --workload "$2" --oversub 150 --log "$work/$1.log" >/dev/null 2>"$work/err" ||
		bad "$2: $(cat "$work/err")"
	awk -f $f/faults.awk "$work/$1.log" >"$work/$1"
}
number() { sed -n "s/^$2 //p" "$work/$1"; }
orders() { # WHAT LESS MORE
	if [ "$2" -lt "$3" ]; then ok "$1: $2 < $3"; else bad "$1: $2 is not below $3"; fi
}
run moe moe:layers=1,shared=8m,experts=16,expert=6m,prompt=64,tokens=0,tile=2m
run gnn gnn:scale=13,degree=4,skew=0,features=1k,hidden=1k,batch=0,chunk=8192
orders 'runs are longer in a prompt' "$(number gnn run_mean)" "$(number moe run_mean)"
orders 'neighbouring pages are more frequent in a prompt' "$(number gnn d_1)" "$(number moe d_1)"
orders 'deltas of 69 pages are more frequent in a graph network' "$(number moe d_69)" "$(number gnn d_69)"
orders 'and more frequent there than those of 138' "$(number gnn d_138)" "$(number gnn d_69)"
exit $failed
