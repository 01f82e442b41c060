#!/bin/sh
# uvmsim curve: rows of one pass are those of separate runs; samples are near them; other policies are run; the working set.
# usage: curve.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"

# values FILE KEY...: the values of JSON keys, a line for each object
values() {
	file=$1
	shift
	awk -v keys="$*" '{
		n = split(keys, key, " "); line = ""
		for (i = 1; i <= n; i++) {
			at = index($0, "\"" key[i] "\": "); rest = substr($0, at + length(key[i]) + 4)
			sub(/[,}].*/, "", rest); line = line " " rest
		}
		print line}' "$file"
}
counts='memory_bytes footprint_bytes accesses far_faults refaults h2d_bytes d2h_bytes'
sizes='2M 4M 6M 8M 10M 12M 16M'
# as_runs NAME TRACE RUN_TRACE POLICY [ARGUMENT]: the curve of TRACE in one pass against runs of RUN_TRACE
as_runs() {
	name=$1 trace=$2 run=$3 policy=$4
	shift 4
	"$uvmsim" curve --trace "$trace" --policy "$policy" --sizes "$(echo $sizes | tr ' ' ,)" \
		--format json "$@" >"$work/curve" 2>"$work/err"
	status=$?
	values "$work/curve" $counts >"$work/got"
	for size in $sizes; do
		"$uvmsim" run --trace "$run" --policy "$policy" --memory "$size" --format json
	done >"$work/runs" 2>>"$work/err"
	values "$work/runs" $counts >"$work/want"
	[ $status = 0 ] && cmp -s "$work/got" "$work/want" && [ "$(grep -c '"method": "exact"' "$work/curve")" = 7 ]
	verdict $? "$name: one pass equals seven runs"
}

# One agent: pages with a skew, in two ranges, of which the first begins inside a VABlock; with the words of range or kernel rows.
trace() { # FRESH
	awk -v fresh="$1" 'BEGIN {
		print "uvmp-trace 1"; print "range,0x20080000,4194304"; print "range,0x30000000,8388608" fresh
		for (i = 0; i < 9000; i++) {
			x = (x * 1103515245 + 12345) % 2147483648
			page = int(x / 65536) % (i % 4 ? 300 : 3000)
			if (i % 1000 == 0) print "kernel,k"
			if (page < 1024) printf ",7,%s,0x%x\n", i % 5 ? "r" : "w", 537395200 + page * 4096
			else printf ",7,r,0x%x\n", 805306368 + (page - 1024) * 4096
		}}'
}
trace '' >"$work/t.trace"
trace ',,fresh' >"$work/fresh.trace"
lru='prefetch=none evict=lru4k'
as_runs 'LRU' "$work/t.trace" "$work/t.trace" "$lru"
as_runs 'LRU, fresh memory' "$work/fresh.trace" "$work/fresh.trace" "$lru"
as_runs 'UVM Smart without prefetching' "$work/t.trace" "$work/t.trace" uvmsmart-none
as_runs 'LRU without thrashing' "$work/t.trace" "$work/t.trace" "$lru thrash=off"

# Many agents, taken as one.
"$uvmsim" trace --workload random:bytes=16m --output "$work/agents.trace"
awk -F, -v OFS=, 'NR > 1 && ($3 == "r" || $3 == "w") {$2 = 0} {print}' "$work/agents.trace" >"$work/one.trace"
! cmp -s "$work/agents.trace" "$work/one.trace"
verdict $? 'the workload has several agents'
as_runs 'several agents, --serial' "$work/agents.trace" "$work/one.trace" "$lru" --serial

# Why a policy or a trace needs runs; these are those of `run`.
by_runs() { # NAME REASON ARGUMENT...
	name=$1 reason=$2
	shift 2
	"$uvmsim" curve "$@" --sizes 4M,8M --format json >"$work/curve" 2>"$work/err"
	status=$?
	for size in 4M 8M; do "$uvmsim" run "$@" --memory $size --format json; done >"$work/runs" 2>/dev/null
	values "$work/curve" $counts time_ns >"$work/got"
	values "$work/runs" $counts time_ns >"$work/want"
	cp "$work/err" "$work/out"
	[ $status = 0 ] && cmp -s "$work/got" "$work/want" && [ "$(grep -c '"method": "run"' "$work/curve")" = 2 ] &&
		if [ -n "$reason" ]; then grep -q "$reason" "$work/err"; else [ ! -s "$work/err" ]; fi
	verdict $? "$name: separate runs"
}
by_runs 'the driver' '' --workload regular:bytes=16m --policy nvidia-595
by_runs 'several agents' 'several agents make' --workload regular:bytes=16m --policy "$lru"
by_runs 'time' '' --workload regular:bytes=16m --policy "$lru" --gpu titan-v
by_runs 'VABlocks' '' --trace "$work/t.trace" --policy 'prefetch=none evict=lru2m'
by_runs 'a reserve' '' --trace "$work/t.trace" --policy "$lru reserve=20"
(cat "$work/t.trace" && echo ',cpu,r,0x30000000') >"$work/cpu.trace"
by_runs 'the CPU' 'the CPU accesses pages' --trace "$work/cpu.trace" --policy "$lru"
(cat "$work/t.trace" && echo 'range,0x40000000,8192') >"$work/late.trace"
by_runs 'a late range' 'after the first access' --trace "$work/late.trace" --policy "$lru"
"$uvmsim" curve --trace - --policy "$lru" --policy nvidia-595 --points 5 --format csv <"$work/cpu.trace" >"$work/out" 2>/dev/null
[ $? = 0 ] && [ "$(wc -l <"$work/out")" = 11 ]
verdict $? 'standard input is read for each run'

# Evicting VABlocks of which only some pages are resident is no stack algorithm: here the larger memory has more faults. A and B
# are evicted from 4 MiB and return with one page each, which leaves room for D beside C; in 6 MiB they are still whole.
awk 'function touch(block, pages,   p) {for (p = 0; p < pages; p++) printf ",0,r,0x%x\n", 536870912 + block * 2097152 + p * 4096}
	BEGIN {
		print "uvmp-trace 1"; print "range,0x20000000,8388608"
		touch(0, 512); touch(1, 512); touch(2, 512); touch(0, 1); touch(1, 1); touch(3, 510); touch(2, 512)
	}' >"$work/anomaly.trace"
"$uvmsim" curve --trace "$work/anomaly.trace" --policy 'prefetch=none evict=lru2m' --sizes 4M,6M --format json >"$work/out" 2>&1
[ "$(values "$work/out" method far_faults | tr '\n' ';')" = ' "run" 2048; "run" 2558;' ]
verdict $? 'LRU of VABlocks: more memory, more faults'

# A sample.
"$uvmsim" trace --workload random:bytes=64m,passes=4 --output "$work/large.trace"
"$uvmsim" curve --trace "$work/large.trace" --policy "$lru" --serial --points 8 --format json >"$work/exact"
"$uvmsim" curve --trace "$work/large.trace" --policy "$lru" --serial --points 8 --sample 10% --format json >"$work/sampled"
values "$work/exact" memory_bytes far_faults >"$work/a"
values "$work/sampled" far_faults far_faults_low far_faults_high >"$work/b"
paste -d ' ' "$work/a" "$work/b" >"$work/out"
awk '{error = ($3 - $2) / $2; if (error < 0) error = -error
	if (error > 0.05 || !($4 <= $3 && $3 <= $5)) bad = 1; inside += $4 <= $2 && $2 <= $5}
	END {exit bad || NR != 8 || inside < 7}' "$work/out"
verdict $? 'a sample: within 5 % of the truth, which the interval has'
[ "$(grep -c '"method": "sampled".*"samples": 8, "sample_millionths": 100000' "$work/sampled")" = 8 ]
verdict $? 'a sample: rows say so'
"$uvmsim" curve --trace "$work/large.trace" --policy "$lru" --serial --points 8 --sample 10 --format json | cmp -s - "$work/sampled"
verdict $? 'a sample: the same again'

# Samples without a page have no estimate: in a memory that fits all 1024 pages, the others have 1024 faults.
few() { # PERCENT SAMPLES
	"$uvmsim" curve --workload random:bytes=4m --policy "$lru" --serial --sizes 4M --sample "$1" --format json >"$work/out" 2>&1
	[ "$(values "$work/out" far_faults far_faults_low far_faults_high samples)" = " 1024 1024 1024 $2" ]
	verdict $? "a sample of $1 %: $2 samples have a page"
}
few 0.05 4
few 0.1 6
few 0.2 7
"$uvmsim" curve --workload random:bytes=4m --policy "$lru" --serial --sample 0.001 >"$work/out" 2>"$work/err"
[ $? = 2 ] && [ ! -s "$work/out" ] && grep -q 'with 0.0010 % of 1024 pages, fewer than 2 of 8 samples have a page' "$work/err"
verdict $? 'samples without a page are refused'
needed=$(sed 's/.*at least \([0-9.]*\) % is needed/\1/' "$work/err")
few "$needed" 2
below=$(awk -v p="$needed" 'BEGIN {printf "%.4f", p - 0.0001}')
"$uvmsim" curve --workload random:bytes=4m --policy "$lru" --serial --sample "$below" 2>&1 | grep -q "at least $needed % is needed"
verdict $? "$needed % is the least percentage"

printf 'uvmp-trace 1\nrange,0x20000000,8192\n,0,r,0x20000000\n,0,r,0x20001000\n' >"$work/tiny.trace"
"$uvmsim" curve --trace "$work/tiny.trace" --policy "$lru" --points 1 --sample 60 --format json >"$work/out" 2>&1
[ "$(values "$work/out" far_faults far_faults_low far_faults_high)" = ' 2 2 2' ]
verdict $? 'a sample is of the pages of ranges, not of whole VABlocks'

# The working set, against a count of the rows.
"$uvmsim" curve --trace "$work/t.trace" --working-set --window 1000 --format csv >"$work/out" 2>"$work/err"
grep '^,7' "$work/t.trace" | awk -F, '
	NR > 1 && (NR - 1) % 1000 == 0 {print n; n = 0; split("", seen)}
	!($4 in seen) {seen[$4] = 1; n++}
	END {print n}' >"$work/want"
sed 1d "$work/out" | awk -F, '{print $7}' | cmp -s - "$work/want"
verdict $? 'working set: distinct pages of each window'
[ "$(sed 1d "$work/out" | awk -F, '{sum += $9} END {print sum}')" = \
	"$(grep '^,7' "$work/t.trace" | cut -d, -f4 | sort -u | wc -l)" ]
verdict $? 'working set: each page is new once'
printf 'uvmp-trace 1\nrange,0x200000,8192\n0,0,r,0x200000\n900,0,r,0x201000\n5200,0,r,0x200000\n' >"$work/time.trace"
"$uvmsim" curve --trace "$work/time.trace" --working-set --window 1us >"$work/out"
awk 'NR > 3 {print $2, $5}' "$work/out" | tr '\n' ';' | grep -qx '0 2;5000 1;'
verdict $? 'working set: windows of time'

# Wrong usage.
refused() { # TEXT ARGUMENT...
	text=$1
	shift
	"$uvmsim" curve "$@" >"$work/out" 2>"$work/err"
	[ $? = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ] && grep -qF -- "$text" "$work/err"
	status=$?
	cp "$work/err" "$work/out"
	verdict $status "refused: $text"
}
t=$work/t.trace
refused 'one of --workload and --trace is needed' --points 3
refused 'one workload or trace' --trace "$t" --trace "$t"
refused '--sizes and --points: one of them' --trace "$t" --sizes 4M --points 3
refused 'a size must follow the last comma' --trace "$t" --sizes 4M,
refused '"x" is not accepted' --trace "$t" --sizes 4M,x
refused '--sizes: at least one size' --trace "$t" --sizes ''
refused '--points: "65"' --trace "$t" --points 65
refused '--sample: "100"' --trace "$t" --sample 100
refused '--sample: "0"' --trace "$t" --sample 0
refused '--sample: "1.00001"' --trace "$t" --sample 1.00001
refused 'the policy decides on more than single pages' --trace "$t" --sample 1
refused '--serial: nvidia-595 needs separate runs' --trace "$t" --serial --policy nvidia-595
refused 'time needs runs' --trace "$t" --serial --policy "$lru" --gpu titan-v
refused '--window needs --working-set' --trace "$t" --window 5
refused 'it takes no policy' --trace "$t" --working-set --policy nvidia-595
refused 'an access has no time' --trace "$t" --working-set --window 5us
refused 'did you mean --serial' --trace "$t" --serail
refused 'No such file' --trace "$work/none"

# Errors in a trace are those of `run`, with file and line.
printf 'uvmp-trace 1\nrange,0x7f0000000000,4194304,a\n,0,r,0x7f0000000000\n,0,r,0x7f0000800000\n' >"$work/outside.trace"
printf 'uvmp-trace 1\nrange,0x20000000,4194304\n,0,q,0x20000000\n' >"$work/access.trace"
printf 'uvmp-trace 1\nrange,0x20000000,4194304\nrange,0x20200000,4194304\n,0,r,0x20000000\n' >"$work/overlap.trace"
printf 'uvmp-trace 1\nrange,0x7f0000000000,103354101399552,a\n' >"$work/big.trace"
printf 'uvmp-trace 1\n' >"$work/empty.trace"
"$uvmsim" trace --trace "$t" --format binary --output "$work/whole.bin" && head -c 5000 "$work/whole.bin" >"$work/cut.bin"
for trace in outside.trace access.trace overlap.trace big.trace empty.trace cut.bin; do
	text=$("$uvmsim" run --trace "$work/$trace" --policy "$lru" 2>&1 >/dev/null)
	text=${text##*"$work"/}
	[ "$trace" != big.trace ] || refused "$text" --trace "$work/$trace" --working-set
	for how in '' --serial '--sample 10'; do
		# shellcheck disable=SC2086
		refused "$text" --trace "$work/$trace" --policy "$lru" --points 2 $how
	done
done
for format in json csv; do
	"$uvmsim" curve --trace "$work/outside.trace" --working-set --format $format >"$work/out" 2>"$work/err"
	status=$?
	error=$(sed 's/^uvmsim: //' "$work/err")
	[ $status = 2 ] && [ "$(grep -cF "$error" "$work/out")" = 1 ] && tail -n 1 "$work/out" | grep -qF "$error"
	verdict $? "working set, $format: the last row of a trace that breaks off has the error"
done
printf 'uvmp-trace 1\nrange,0x7f0000000000,8796093022208,a\n,0,r,0x7f0000000000\n' >"$work/huge.trace"
"$uvmsim" curve --trace "$work/huge.trace" --policy "$lru" --serial >"$work/out" 2>&1
grep -q 'needs separate runs: the ranges are too many or too large for one pass' "$work/out"
verdict $? 'ranges that are too large for one pass'
exit $failed
