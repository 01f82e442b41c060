#!/bin/sh
# The recorder of real GPUs under a stub of CUPTI, and the calibration with a simulated GPU whose constants are known. Where CUDA
# is found, the recorder and the micro-benchmarks are also compiled with it. usage: cuda.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: cuda.sh BUILD}
case $build in /*) ;; *) build=$PWD/$build ;; esac
CC=${CC:-cc}
uvmsim=${UVMSIM:-$build/san/uvmsim}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	head -n 20 "$work/out" "$work/err" 2>/dev/null | sed 's/^/     /'
}
same() { # NAME WANT HAVE
	if diff "$2" "$3" >"$work/out" 2>&1; then ok "$1"; else fail "$1"; fi
}

# -- the recorder --
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -fsanitize=address,undefined"
flags="$flags -Itests/support/cuda -Iadapters/cuda -Iadapters/common"
# shellcheck disable=SC2086 # words
if ! $CC $flags adapters/cuda/cupti.c adapters/cuda/record*.c adapters/common/output*.c adapters/common/say.c \
	tests/support/cuda/program.c -o "$work/program" 2>"$work/err"; then
	fail 'the recorder compiles with the stub'
	exit 1
fi
record() { UVMP_CUDA_TRACE=$work/trace "$work/program" "$@" >"$work/out" 2>"$work/err"; }
# Two groups of faults, told out of order, in a kernel whose record comes last; memory that is not managed; a copy.
record memory 0x7f0000000000 4194304 10 device 0x7e0000000000 4096 11 \
	fault 2000 2500 0x7f0000201000 w fault 1000 1400 0x7f0000000000 r fault 1100 1500 0x7f0000010010 '?' \
	copy 1200 1300 0x7f0000000000 \
	fault 2100 2600 0x7f0000202000 a fault 2700 2800 0x7f0000203000 p cpu 4000 0x7f0000000000 r cpu 4100 0x7f0000001000 w \
	kernel 'void add<int, 4>(int*)' 900 3900 release 0x7f0000000000 5000
cat >"$work/want" <<'T'
uvmp-trace 1
# recorded on a GPU: faults only, with the driver's batches
range,0x7f0000000000,4194304
kernel,void add<int; 4>(int*)
1000,0,r,0x7f0000000000
1100,1,r,0x7f0000010010
batch
2000,0,w,0x7f0000201000
2100,1,a,0x7f0000202000
batch
2700,0,p,0x7f0000203000
batch
sync
4000,cpu,r,0x7f0000000000
4100,cpu,w,0x7f0000001000
free,0x7f0000000000,4194304
T
same 'faults, groups, kernels and allocations become rows' "$work/want" "$work/trace"
if "$uvmsim" run --trace "$work/trace" --policy prefetch=none --format json >"$work/out" 2>"$work/err" &&
	grep -q '"batches": 3,.*"far_faults": 5,.*"cpu_faults": 1,' "$work/out"; then
	ok 'uvmsim runs the trace with its batches'
else
	fail 'uvmsim runs the trace with its batches'
fi
if "$uvmsim" run --gpu rtx-4090 --trace "$work/trace" >"$work/out" 2>"$work/err"; then
	ok 'also with time'
else
	fail 'also with time'
fi
# Memory that is allocated again is one range; a part that is new is declared; memory that faults elsewhere was there before: its
# blocks are declared first.
record memory 0x7f0000000000 8192 10 release 0x7f0000000000 20 memory 0x7f0000001000 8192 30 fault 40 41 0x7f0000002000 w \
	fault 50 51 0x7f0000a01000 r release 0x7f0000001000 60 drop 3
cat >"$work/want" <<'T'
uvmp-trace 1
# recorded on a GPU: faults only, with the driver's batches
# 3 events are missing
range,0x7f0000a00000,2097152
range,0x7f0000000000,8192
range,0x7f0000002000,4096
40,0,w,0x7f0000002000
batch
50,0,r,0x7f0000a01000
batch
free,0x7f0000001000,8192
T
same 'memory that is reused, unknown memory, lost events' "$work/want" "$work/trace"
if "$uvmsim" run --trace "$work/trace" >"$work/out" 2>"$work/err"; then
	ok 'such a trace is read, too'
else
	fail 'such a trace is read, too'
fi
# The recorder joins neighbouring blocks to one range. A later allocation inside that range declares only the rest of it.
record fault 10 11 0x7f0000201000 r fault 20 21 0x7f0000000000 w memory 0x7f0000300000 4194304 30 fault 40 41 0x7f0000500000 r \
	release 0x7f0000300000 50 release 0x7f0000300000 51 memory 0x7f0000600000 4096 60 release 0x7f0000600000 70 \
	memory 0x7f0001000000 8192 80 release 0x7f0001000000 90 release 0x7f0002000000 91
cat >"$work/want" <<'T'
uvmp-trace 1
# recorded on a GPU: faults only, with the driver's batches
range,0x7f0000000000,4194304
10,0,r,0x7f0000201000
batch
20,0,w,0x7f0000000000
batch
range,0x7f0000400000,3145728
40,0,r,0x7f0000500000
batch
free,0x7f0000600000,4096
range,0x7f0001000000,8192
free,0x7f0001000000,8192
T
same 'blocks without an allocation stand first; memory that is used later is not freed' "$work/want" "$work/trace"
# As many allocations as a long program makes: the time grows with their number, not with its square.
record many 60000
if [ "$(grep -c '^free,' "$work/trace")" = 60000 ] && [ "$(grep -c '^range,' "$work/trace")" = 60000 ]; then
	ok '60,000 allocations and releases'
else
	fail '60,000 allocations and releases'
fi
# A child that is forked has the records of its parent, and leaves the trace to it.
record memory 0x7f0000000000 8192 10 fault 20 21 0x7f0000000000 r
cp "$work/trace" "$work/want"
rm "$work/trace"
UVMP_CUDA_TRACE=$work/of-%p-%p.trace "$work/program" memory 0x7f0000000000 8192 10 fork fault 20 21 0x7f0000000000 r \
	>"$work/out" 2>"$work/err" || fail 'a program that forks'
written=$(ls "$work"/of-*)
case ${written##*/} in
of-*[!0-9-]*.trace | *' '*) fail "one trace is written: $written" ;;
*) same 'a forked child writes no trace; %p is the number of the process' "$work/want" "$written" ;;
esac
record refuse allocations memory 0x7f0000000000 8192 10 fault 40 41 0x7f0000002000 w
if grep -q '^range,0x7f0000000000,2097152$' "$work/trace" && grep -q 'uvmp-cupti: allocations: not supported' "$work/err"; then
	ok 'without allocations, blocks are declared'
else
	fail 'without allocations, blocks are declared'
fi
rm -f "$work/trace"
record refuse counters fault 40 41 0x7f0000002000 w
if [ ! -e "$work/trace" ] && grep -q 'uvmp-cupti: counters of unified memory: not supported' "$work/err"; then
	ok 'without faults there is no trace, and the program runs on'
else
	fail 'without faults there is no trace'
fi
if UVMP_CUDA_TRACE=/nowhere/trace "$work/program" fault 40 41 0x7f0000002000 w 2>"$work/err" &&
	grep -q '^uvmp-cupti: UVMP_CUDA_TRACE /nowhere/trace: No such file or directory$' "$work/err"; then
	ok 'a trace that cannot be written'
else
	fail 'a trace that cannot be written'
fi
# The trace is no other file that the program uses, by any name, and is replaced as a whole.
cp "$work/program" "$work/before"
ln "$work/program" "$work/link"
UVMP_CUDA_TRACE=$work/link "$work/program" fault 40 41 0x7f0000002000 w >"$work/out" 2>"$work/err"
if grep -q 'link: is an input (the program ' "$work/err" && cmp -s "$work/program" "$work/before"; then
	ok 'a trace that is the program'
else
	fail 'a trace that is the program'
fi
UVMP_CUDA_TRACE=$work/printed "$work/program" fault 40 41 0x7f0000002000 w >"$work/printed" 2>"$work/err"
if grep -q 'printed: is also the file of standard output' "$work/err" && [ ! -s "$work/printed" ]; then
	ok 'a trace that is standard output'
else
	fail 'a trace that is standard output'
fi
echo old >"$work/trace"
(
	trap '' XFSZ
	ulimit -f 8
	record many 60000
)
if grep -q 'trace: File too large' "$work/err" && [ "$(cat "$work/trace")" = old ] && [ -z "$(find "$work" -name 'new.*')" ]; then
	ok 'a trace that is not complete leaves the old one'
else
	fail 'a trace that is not complete leaves the old one'
fi
# A second kernel that ends first does not end the first one: the CPU's fault at 50 is in no sync.
record memory 0x7f0000000000 8192 1 kernel a 10 100 kernel b 20 30 cpu 50 0x7f0000000000 r cpu 110 0x7f0000001000 r
cat >"$work/want" <<'T'
uvmp-trace 1
# recorded on a GPU: faults only, with the driver's batches
range,0x7f0000000000,8192
kernel,a
kernel,b
50,cpu,r,0x7f0000000000
sync
110,cpu,r,0x7f0000001000
T
same 'kernels that overlap' "$work/want" "$work/trace"
if record late fault 40 41 0x7f0000002000 w && [ "$(grep -c '^40,0,w,' "$work/trace")" = 1 ]; then
	ok 'a buffer that comes after the end is dropped'
else
	fail 'a buffer that comes after the end is dropped'
fi

# -- the calibration --
make -s BUILD="$build" "$build/uvmp-calibrate" >"$work/out" 2>"$work/err" || fail 'uvmp-calibrate is built'
calibrate=$build/uvmp-calibrate
cd "$work" || exit 1
root=$OLDPWD
cat >known.gpu <<'T'
include = gtx-1080-ti
alloc_ns = 200000
fault_ns = 3000
fetch_ns = 300
order_ns = 100
skip_ns = 0
batch_ns = 6000
block_ns = 2500
map_page_ns = 30
unmap_ns = 4000
page_ns = 100
unmap_page_ns = 200
launch_ns = 7000
utlb_entries = 12
l2_tlb_entries = 48
l2_tlb_ns = 150
walk_ns = 500
T
sed 's/^alloc_ns.*/alloc_ns = 0/' known.gpu >warm.gpu # memory that the driver has allocated before
keys() { tr ',' '\n' | sed -n 's/.*"\([a-z0-9_]*\)": \([0-9][0-9]*\)}*$/\1 \2/p'; }
touches() { awk -v fresh="$1" -v agents="$2" -v touches="$3" -v stride="$4" -v step="$5" -f "$root/tests/cuda/touches.awk"; }
measure() { # NAME FRESH POLICY AGENTS TOUCHES STRIDE STEP
	touches "$2" "$4" "$5" "$6" "$7" >"$1.trace"
	"$uvmsim" run --gpu ./warm.gpu --trace "$1.trace" --policy "$3" --format json --log "$1.log" 2>>err | keys >"$1.keys"
	awk -v name="$1" -f "$root/tests/cuda/counts.awk" "$1.keys" "$1.log"
}
chase() { # BLOCKS: the time of an access, from twice as many passes
	for passes in 4 8; do
		awk -v n="$1" -v k=$passes 'BEGIN {
			printf "uvmp-trace 1\nrange,0x7f0000000000,%d,a,fresh\nkernel,k\n", n * 2097152
			for (p = 0; p < k; p++) for (i = 0; i < n; i++) printf ",0,r,0x7f%010x\n", i * 2097152
		}' >chase.trace
		"$uvmsim" run --gpu ./warm.gpu --trace chase.trace --policy prefetch=none --format json | keys | sed -n 's/^kernel_ns //p'
	done | awk -v n="$1" '{ ns[NR] = $1 } END { printf "chase,%d,%d\n", n * 2097152, (ns[2] - ns[1]) / n / 4 }'
}
first() {
	for gpu in known warm; do
		"$uvmsim" run --gpu ./$gpu.gpu --trace launch.trace --policy prefetch=none --format json | keys | sed -n 's/^kernel_ns //p'
	done | paste -sd , -
}
block=2097152
{
	echo 'uvmp-measurements 1'
	echo 'gpu,Known,28,64,32,1582,128,11544297472,484400,4096'
	for d in h2d d2h; do for size in 4096 1048576; do echo "copy,$d,$size,$((800 + size * 10 / 116))"; done; done
	measure launch 1 prefetch=none 1 1 65536 0
	measure chain 1 prefetch=none 1 64 65536 0
	measure chain-blocks 1 prefetch=none 1 64 $block 0
	measure chain-prefetch 1 nvidia-595 1 64 65536 0
	measure chain-both 1 nvidia-595 1 64 $block 0
	measure wide 1 prefetch=none 128 8 4096 32768
	measure wide-32 1 prefetch=none 32 8 4096 32768
	measure same 1 prefetch=none 128 8 4096 0
	measure same-32 1 prefetch=none 32 16 4096 0
	measure blocks-64 1 prefetch=none 64 4 4096 $block
	measure blocks-16 1 prefetch=none 16 4 4096 $block
	measure four 1 prefetch=none 4 64 65536 4096
	measure four-blocks 1 prefetch=none 64 4 4096 524288
	measure moved-chain 0 prefetch=none 1 64 65536 0
	measure moved-four 0 prefetch=none 4 64 65536 4096
	measure moved-blocks 0 prefetch=none 64 4 4096 $block
	measure moved-16 0 prefetch=none 64 4 4096 524288
	measure moved-4 0 prefetch=none 64 4 4096 131072
	for n in 4 8 10 12 13 16 24 40 48 49 52 64; do chase $n; done
	echo "first,$(first)"
	echo 'utlb,28,448'
} >measurements
if "$calibrate" measurements --link made.link >made.gpu 2>err; then
	ok 'measurements become a model'
else
	fail 'measurements become a model'
fi
cp measurements out
mkdir abandoned
sh "$root/tests/cli/support/abandoned.sh" . "$calibrate" measurements --link abandoned/made.link 2>err
if [ $? = 141 ] && [ ! -s err ] && [ -z "$(ls abandoned)" ]; then
	ok 'the reader of the model has left: no link, no report'
else
	fail 'the reader of the model has left: no link, no report'
fi
# What was measured of the known GPU, within so many percent. A group also has the access and the walk of its first fault.
near() { # NAME WANT PERCENT KEY...
	what=$1 want=$2 percent=$3
	shift 3
	if awk -v want="$want" -v percent="$percent" -v keys=" $* " '
		index(keys, " " $1 " ") { sum += $3 }
		END {
			print "want", want, "have", sum + 0
			exit !(sum >= want * (1 - percent / 100) && sum <= want * (1 + percent / 100))
		}' made.gpu >out; then
		ok "recovered: $what, $(cut -d' ' -f4 out) for $want ns"
	else
		fail "recovered: $what"
	fi
}
near 'the launch' 7000 5 launch_ns
near 'a fault group' 14500 10 interrupt_ns wakeup_ns batch_ns replay_push_ns flush_ns replay_ns
near 'a fetched fault' 300 5 fetch_ns order_ns
near 'a serviced fault, its order and flush' 3180 10 fault_ns
near 'a VABlock' 4300 10 block_ns copy_ns map_ns
near 'unmapping a VABlock' 4000 10 unmap_ns
near 'a page that moves' 300 35 page_ns unmap_page_ns
near 'the allocator' 200000 1 alloc_ns
near 'entries of the uTLB' 12 0 utlb_entries
near 'entries of the second level' 48 0 l2_tlb_entries
near 'the second level' 150 10 l2_tlb_ns
near 'a walk' 500 10 walk_ns
near 'faults of a uTLB' 16 0 utlb_faults
# Programs that were not measured take as long on the model that came out, within the tolerance of times.
for run in 'prefetch=none regular:bytes=8m,passes=1' 'prefetch=none random:bytes=8m,passes=1' \
	'nvidia-595 regular:bytes=32m,passes=1' 'nvidia-595 stream:bytes=16m'; do
	for gpu in known made; do
		"$uvmsim" run --gpu ./$gpu.gpu --workload "${run#* }" --policy "${run%% *}" --format json 2>err | keys | sed -n 's/^time_ns //p'
	done | paste -sd ' ' - >out
	if awk '{ exit !(NF == 2 && $2 >= 0.75 * $1 && $2 <= 1.25 * $1) }' out; then
		ok "predicted: $run: $(cat out) ns"
	else
		fail "predicted: $run"
	fi
done
if "$uvmsim" run --gpu ./made.gpu --workload regular:bytes=4m --uncertainty 5 >out 2>err; then
	ok 'the model has ranges'
else
	fail 'the model has ranges'
fi
# usage STATUS TEXT ARGUMENTS...
usage() {
	want=$1 text=$2
	shift 2
	"$calibrate" "$@" >out 2>err </dev/null
	if [ $? = "$want" ] && cat out err | grep -qF -- "$text"; then ok "uvmp-calibrate $*: $text"; else fail "uvmp-calibrate $*"; fi
}
usage 0 'usage: uvmp-calibrate' --help
usage 2 'MEASUREMENTS and --link FILE.link are needed'
usage 2 'the name must end in .link' measurements --link a
usage 2 'none: No such file' none --link a.link
usage 2 'unexpected argument x' measurements x --link a.link
usage 2 '-:1: no measurements' - --link a.link
if [ -e a.link ]; then fail 'no link is left after an error'; else ok 'no link is left after an error'; fi
echo old >kept.link
sed '/^run,/d' measurements >few
usage 2 'few: the runs do not determine' few --link kept.link
if [ "$(cat kept.link)" = old ]; then ok 'an error leaves a link as it was'; else fail 'an error leaves a link as it was'; fi
usage 2 'none/a.link: No such file' measurements --link none/a.link
cd "$root" || exit 1

# -- with CUDA --
cuda=${CUDA:-/usr/local/cuda}
if [ -e "$cuda/include/cupti.h" ] || [ -e "$cuda/extras/CUPTI/include/cupti.h" ]; then
	if make -s BUILD="$work/cuda" CUDA="$cuda" cuda >"$work/out" 2>"$work/err"; then
		ok "the recorder and the benchmarks compile with $cuda"
	else
		fail "the recorder and the benchmarks compile with $cuda"
	fi
else
	echo "skip: no cupti.h under $cuda"
fi
exit $failed
