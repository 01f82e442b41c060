#!/bin/sh
# Options and errors of uvmsim as a new user types them: help in every spelling, sizes, over-subscription, presets by name, the
# nearest valid word, repeated options, notes.
# usage: options.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"
# prints TEXT...: on stdout; quiet: nothing on stderr
prints() {
	for text in "$@"; do
		if grep -qF -- "$text" "$work/out"; then ok "$name: prints $text"; else fail "$name: prints $text"; fi
	done
}
quiet() { if [ -s "$work/err" ]; then fail "$name: quiet"; else ok "$name: quiet"; fi; }

# -- help --
subcommands='run compare plot bound curve sweep explain whatif import trace measured decide check list'
for sub in $subcommands; do
	run 0 "help $sub" help $sub
	prints "usage: uvmsim $sub"
	cp "$work/out" "$work/want"
	run 0 "$sub -h" $sub -h
	if cmp -s "$work/out" "$work/want"; then ok "$name: as help $sub"; else fail "$name: as help $sub"; fi
	if awk 'length > 80 { exit 1 }' "$work/out"; then ok "$name: 80 columns"; else fail "$name: 80 columns"; fi
done
for word in -h --help help; do
	run 0 "$word" $word
	prints 'usage: uvmsim SUBCOMMAND' '  compare '
	if awk 'length > 80 { exit 1 }' "$work/out"; then ok "$name: 80 columns"; else fail "$name: 80 columns"; fi
done
run 0 '-V' -V
prints 'uvmsim '
run 2 'no arguments'
says 'uvmsim: a subcommand must follow; see `uvmsim --help`'
lines=$(wc -l <"$work/err")
if [ "$lines" = 1 ]; then ok "$name: one line"; else fail "$name: one line, not $lines"; fi
run 2 'run, two memory sizes' run --workload regular --oversub 125 --memory 4M
says 'run: one memory size: --memory or --oversub, once; `uvmsim compare` takes several'
run 2 'run, two workloads' run --workload regular --workload random
says 'run: one workload or trace: --workload or --trace, once'
run 2 'run, two policies' run --workload regular --policy nvidia-595 --policy uvmsmart
says 'run: one policy: --policy, once'
run 2 'help of two' help run compare
run 0 'help help' help help
prints 'usage: uvmsim SUBCOMMAND'
run 2 'help of an unknown subcommand' help runn
says 'did you mean run?'

# -- the nearest word --
nearest() { # WORD ARGUMENTS...
	word=$1
	shift
	run 2 "nearest: $*" "$@"
	says "did you mean $word?"
	if [ "$(wc -l <"$work/err")" = 1 ]; then ok "$name: one line"; else fail "$name: one line"; fi
}
w='--workload regular:bytes=4m'
nearest compare compere
nearest --version --verson
nearest --policy run $w --polcy x
nearest --workload run --worklaod regular
nearest --memory run $w --memor 4M # names are not abbreviated
nearest regular run --workload regullar
nearest bytes run --workload regular:byts=4m
nearest titan-v run $w --gpu titan-w
nearest prefetch run $w --policy prefech=tbn
nearest tbn run $w --policy prefetch=tbm
says '--policy: character 1: '
nearest uvmsmart run $w --policy uvmsmrt
nearest uvmsmart run $w --policy preset=uvmsmat
says 'list presets'
for word in threshold= threshold; do
	run 2 "no value: $word" run $w --policy "$word"
	says 'threshold: a value must follow threshold=; 0..100; see `uvmsim list policies`'
done
nearest json run $w --format jsn
nearest csv bound $w --format cvs
nearest nvprof import nvproof x
nearest policies list polices
nearest threshold list policies treshold
nearest uvmsmart list presets uvmsmrat
nearest sgemm list workloads sgem
run 2 'nothing is near' run $w --zzzzzz
if grep -q 'did you mean' "$work/err"; then fail "$name: no hint"; else ok "$name: no hint"; fi
run 2 'a wrong GPU' run $w --gpu bogus
says 'titan-v' 'h100-sxm' 'gtx-1080-ti'

# -- lists of one --
run 0 'list presets uvmsmart' list presets uvmsmart
prints 'prefetch=tbn'
if [ "$(grep -c '^[^ ]' "$work/out")" = 1 ]; then ok "$name: one"; else fail "$name: one"; fi
run 0 'list policies threshold' list policies threshold
prints 'values: 0..100'
if [ "$(grep -c '^[^ ]' "$work/out")" = 1 ]; then ok "$name: one"; else fail "$name: one"; fi
run 0 'list gpus titan-v' list gpus titan-v
if [ "$(grep -c '^[^ ]' "$work/out")" = 1 ]; then ok "$name: one"; else fail "$name: one"; fi

# -- presets by name --
run 0 'preset=uvmsmart' run $w --policy preset=uvmsmart --format json
cp "$work/out" "$work/want"
run 0 'uvmsmart' run $w --policy uvmsmart --format json
if cmp -s "$work/out" "$work/want"; then ok "$name: the same"; else fail "$name: the same"; fi
prints '"preset": "uvmsmart"'
run 0 'uvmsmart with a key' run $w --policy 'uvmsmart evict=lru4k' --format json
prints 'prefetch=tbn' 'evict=lru4k' '"preset": null'
run 2 'a preset behind a key' run $w --policy 'evict=lru4k uvmsmart'
says 'must be the first word'

# -- sizes and over-subscription --
for size in 8388608 8388608B 8M 8m 8MB 8MiB 8192kB 8Mb 8mib; do
	run 0 "--memory $size" run $w --memory $size --format json
	prints '"memory_bytes": 8388608,'
done
for size in 8iB 8b 8MBB; do
	run 2 "--memory $size" run $w --memory $size
	says 'is not accepted'
done
big='--workload regular:bytes=250m,passes=1'
for oversub in 125 125% 1.25; do
	run 0 "--oversub $oversub" run $big --oversub $oversub --format json
	prints '"memory_bytes": 209715200,'
	quiet
done
run 0 '--oversub 0.5' run $w --oversub 0.5 --format json
prints '"memory_bytes": 8388608,'
run 0 '--oversub 5%' run $w --oversub 5% --format json
prints '"memory_bytes": 83886080,'
for oversub in 1 2 19; do
	run 2 "--oversub $oversub" run $w --oversub $oversub
	says "\"$oversub\" is ambiguous; write $oversub% for percent or $oversub.0 for a ratio"
done
for oversub in 0 0% 0.0 125.0 20.0 1.255 1. .5 1.2.3 10001 10001% 1.25% -1 x '' %; do
	run 2 "--oversub '$oversub'" bound $w --oversub "$oversub"
	says 'is not accepted'
done

# -- until a time --
timed='--gpu titan-v --workload regular:bytes=8m,passes=2 --oversub 150'
time_of() { sed -n 's/.*"time_ns": \([0-9]*\), .*/\1/p' "$work/out"; }
for policy in nvidia-595 nvidia-aggressive uvmsmart-always 'lru2m' 'counters=on'; do
	case $policy in lru2m) policy='evict=lru2m granularity=64k plan=overlapped' ;; esac
	# shellcheck disable=SC2086
	run 0 "$policy" run $timed --policy "$policy" --format json
	cp "$work/out" "$work/want"
	ns=$(time_of)
	for until in "$ns" $((ns + 1)) $((ns * 2)) 1s; do
		# shellcheck disable=SC2086
		run 0 "$policy --until $until" run $timed --policy "$policy" --until "$until" --format json
		if cmp -s "$work/out" "$work/want"; then ok "$name: as without"; else fail "$name: as without"; fi
	done
	for until in $((ns - 1)) $((ns / 2)) 1; do
		# shellcheck disable=SC2086
		run 0 "$policy --until $until" run $timed --policy "$policy" --until "$until" --format json
		prints '"complete": false' "cut by --until: not done by $until ns"
		# shellcheck disable=SC2086
		run 0 "$policy --until $until, table" run $timed --policy "$policy" --until "$until"
		prints 'no: cut by --until'
		# shellcheck disable=SC2086
		run 0 "$policy --until $until, CSV" run $timed --policy "$policy" --until "$until" --format csv
		prints ",1,0," "cut by --until: not done by $until ns\""
	done
done
run 0 'compare --until' compare $timed --policy nvidia-595 --policy nvidia-aggressive --policy granularity-64k --until 9ms
prints 'complete: no, cut by --until' 'granularity-64k'
if [ "$(grep -c 'complete: no, cut by --until$' "$work/out")" = 1 ]; then ok "$name: one is cut"; else fail "$name: one is cut"; fi
run 0 'compare --until, all are cut' compare $timed --policy nvidia-595 --policy nvidia-aggressive --until 10us
if [ "$(grep -c 'complete: no, cut by --until$' "$work/out")" = 2 ]; then ok "$name: two rows"; else fail "$name: two rows"; fi
# The seeds of random access differ in time: with the median as limit some runs are complete.
drawn='--gpu titan-v --workload ra:n=65536 --oversub 150 --policy nvidia-595 --seeds 5'
# shellcheck disable=SC2086
run 0 'compare --seeds' compare $drawn --format json
ns=$(sed -n 's/.*"time_ns_seeds_median": \([0-9]*\), .*/\1/p' "$work/out" | head -n 1)
# shellcheck disable=SC2086
run 0 'compare --seeds --until' compare $drawn --until "$ns"
prints 'complete: 3 of 5, cut by --until'
run 0 'compare --until, presets' compare $timed --policy all --until 10us --format csv
for until in 0 0s 5x ms 1.5ms -1 '' 86401s 99999999999999999999; do
	run 2 "--until '$until'" run $timed --until "$until"
	says "\"$until\" is not accepted; a time, 1ns..86400s"
done
run 2 '--until without --gpu' run $w --until 1ms
says '--until needs --gpu'

# -- draws of a model's constants --
drawn='--gpu titan-v --workload ra:n=65536 --memory 2M --policy nvidia-595'
# shellcheck disable=SC2086
{
	run 0 'run --uncertainty' run $drawn --uncertainty 5
	prints '5 draws of the constants          model      least     median       most'
	run 0 'run without' run $drawn --format json
	sed 's/, "draw": .*//' "$work/out" >"$work/want"
	run 0 'run --uncertainty, JSON' run $drawn --uncertainty 5 --format json
	prints '"draw": 0, "draws": 5, "time_ns_draws_least": '
	if sed 's/, "draw": .*//' "$work/out" | cmp -s - "$work/want"; then
		ok "$name: the model itself"
	else
		fail "$name: the model itself"
	fi
	run 0 'compare --uncertainty' compare $drawn --policy on-demand --uncertainty 5 --jobs 1
	prints 'on-demand' 'in all 5 draws'
	cp "$work/out" "$work/want"
	run 0 'compare --uncertainty, the same again' compare $drawn --policy on-demand --uncertainty 5 --jobs 3
	if cmp -s "$work/out" "$work/want"; then ok "$name: same bytes"; else fail "$name: same bytes"; fi
	run 0 'compare --uncertainty, CSV' compare $drawn --policy on-demand --uncertainty 5 --format csv
	if [ "$(wc -l <"$work/out")" = 13 ]; then ok "$name: 12 runs"; else fail "$name: 12 runs"; fi
	run 2 '--uncertainty without --gpu' run $w --uncertainty 5
	says '--uncertainty needs --gpu'
	run 2 '--uncertainty and --seeds' compare $drawn --seeds 2 --uncertainty 5
	says '--uncertainty and --seeds: one of them'
	run 2 '--uncertainty and --log' run $drawn --uncertainty 5 --log "$work/log"
	says '--log belongs to one run'
	run 2 '--uncertainty 0' run $drawn --uncertainty 0
	says '"0" is not accepted' '1..200'
	sed '/^range/d' adapters/simulator/models/uvmsmart.gpu >"$work/plain.gpu"
	run 2 '--uncertainty without ranges' run $w --gpu "$work/plain.gpu" --uncertainty 5
	says 'no constant of ' 'plain.gpu has a range'
}

# -- access counters: on where the GPU is coherent with the CPU, unless the policy says no --
counts='--workload regular:bytes=64m,passes=3 --oversub 125 --format json'
remote() { sed -n 's/.*"remote_accesses": \([0-9]*\),.*/\1/p' "$work/out"; }
# shellcheck disable=SC2086
{
	run 0 'coherent' run --gpu gh200 $counts --policy nvidia-595
	coherent=$(remote)
	run 0 'coherent, counters=on' run --gpu gh200 $counts --policy nvidia-595,counters=on
	if [ "$coherent" -gt 0 ] && [ "$(remote)" = "$coherent" ]; then ok "$name: as by default"; else fail "$name: as by default"; fi
	run 0 'coherent, counters=off' run --gpu gh200 $counts --policy nvidia-595,counters=off
	if [ "$(remote)" = 0 ]; then ok "$name: nothing is read remotely"; else fail "$name: nothing is read remotely"; fi
	run 0 'not coherent' run --gpu h100-sxm $counts --policy nvidia-595
	if [ "$(remote)" = 0 ]; then ok "$name: nothing is read remotely"; else fail "$name: nothing is read remotely"; fi
}

# -- an option is given once --
once() {
	run 2 "twice: $*" "$@"
	says 'is given twice'
}
once run $w --seed 1 --seed 1
once run $w --format json --format=json
once run $w --gpu titan-v --gpu titan-v
once run $w --log "$work/a" --log "$work/a"
once compare $w --seed 1 --seed 2
once compare $w --jobs 1 --jobs 2
once compare $w --seeds 1 --seeds 2
once bound $w --seed 1 --seed 2
once bound $w --format csv --format csv
once trace $w --seed 1 --seed 2
once trace $w --output "$work/a" --output "$work/b"
once import addresses --hex --hex a
once explain a --space 1 --space 1
once measured tests/data/gtx1080ti.txt --brief --brief
run 2 'run, two policies' run $w --policy uvmsmart --policy uvmsmart
run 0 'compare, two policies' compare $w --policy uvmsmart --policy on-demand

# -- notes --
run 0 'an over-subscription that cannot be met' run --workload regular:bytes=10m --oversub 150 --format json
says 'uvmsim: note: regular:bytes=10485760' 'over-subscription is 125.0 %, not 150 %'
run 0 'bound: an over-subscription that cannot be met' bound --workload regular:bytes=10m --oversub 150 --format json
says 'over-subscription is 125.0 %, not 150 %'
run 0 'compare: an over-subscription that cannot be met' compare --workload regular:bytes=10m --oversub 150 --oversub 125 \
	--policy uvmsmart --policy on-demand
if [ "$(grep -c 'not 150 %' "$work/err")" = 1 ] && [ "$(wc -l <"$work/err")" = 1 ]; then
	ok "$name: once"
else
	fail "$name: once"
fi
run 0 'everything fits' run --workload regular:bytes=10m --format json
quiet
for key in threads=on link_ratio=200 sm_throttle=on; do
	run 0 "$key without time" run $w --memory 2M --policy $key --format json
	says "uvmsim: note: $key" 'without --gpu'
	sed 's/"policy": "[^"]*"//' "$work/out" >"$work/want"
	run 0 'without the key' run $w --memory 2M --format json
	quiet
	sed 's/"policy": "[^"]*"//; s/"preset": "[^"]*"/"preset": null/' "$work/out" >"$work/got"
	sed -i 's/"preset": "[^"]*"/"preset": null/' "$work/want"
	if cmp -s "$work/got" "$work/want"; then ok "$key: no effect"; else fail "$key: no effect"; fi
	run 0 "$key with time" run $w --policy $key --gpu titan-v --format json
	quiet
done

# A plan evicts earlier, and so other pages, without time, too.
far_faults() { sed -n 's/.*"far_faults": \([0-9]*\),.*/\1/p' "$work/out"; }
run 0 'plan=serial without time' run --workload sgemm:n=640 --memory 4M --policy 'evict=lru2m granularity=64k' --format json
quiet
serial=$(far_faults)
for plan in overlapped unobtrusive; do
	run 0 "plan=$plan without time" run --workload sgemm:n=640 --memory 4M --policy "evict=lru2m granularity=64k plan=$plan" \
		--format json
	says "plan=$plan: plan=$plan evicts earlier, which can change the counts; the time that it saves needs --gpu"
	if [ "$(far_faults)" -lt "$serial" ]; then ok "$name: other counts"; else fail "$name: other counts"; fi
done
# One line for each key, with each policy once, whole words of them, and also for presets by pattern.
lines() { # COUNT
	if [ "$(wc -l <"$work/err")" = "$1" ]; then ok "$name: $1 lines"; else fail "$name: $1 lines"; fi
}
run 0 'notes on presets by pattern' compare $w --policy 'preset=batch-*'
says 'uvmsim: note: batch-aware-ue, batch-aware: plan=unobtrusive evicts' \
	'uvmsim: note: batch-aware-to, batch-aware: threads=on has'
lines 2
run 0 'notes on all presets' compare $w --policy all
says 'note: auto: plan=overlapped' 'note: batch-aware-ue, batch-aware: plan=unobtrusive' \
	'compressed-link: link_ratio has no effect' 'etc: sm_throttle=on'
lines 5
run 0 'notes on a policy that is given twice' compare $w --policy plan=overlapped --policy plan=overlapped
says 'note: plan=overlapped: plan=overlapped evicts'
lines 1
run 0 'notes on a long policy' run $w \
	--policy 'prefetch=density threshold=51 min_faults=1 evict=lru2m granularity=64k plan=overlapped'
says 'note: prefetch=density threshold=51 min_faults=1 evict=lru2m ...: plan=overlapped evicts'

# A model whose real chip has no access counters, also one in a file of the user.
for command in run compare; do
	run 0 "$command: remote=auto on a chip without access counters" $command $w --policy auto --gpu gtx-1080-ti
	says 'note: auto: remote=auto: the chip of a real gtx-1080-ti has no access counters and does not notify; compare remote=off'
	lines 1
done
run 0 'counters=on on a chip without access counters' run $w --policy counters=on --gpu p100-pcie
says 'note: counters=on: counters=on: the chip of a real p100-pcie has no' 'compare counters=off'
printf 'include = titan-xp\nsms = 4\n' >"$work/own.gpu"
run 0 'a model that includes such a chip' run $w --policy auto --gpu "$work/own.gpu"
says ' has no access counters'
run 0 'remote=auto on a chip with access counters' run $w --policy auto --gpu titan-v
quiet
run 0 'remote=off on a chip without them' run $w --policy 'preset=auto remote=off' --gpu gtx-1080-ti
quiet
run 0 'chips without access counters' list gpus
if [ "$(grep -c 'the real chip has no access counters' "$work/out")" = 4 ]; then ok "$name: four"; else fail "$name: four"; fi

# -- recordings --
printf 'uvmp-trace 1\n# recorded by hand\n# uvmsim run --memory 4194304 --policy '"'%s'"'\nrange,200000,8388608\n,0,r,200000\n' \
	'prefetch=none' >"$work/t.trace"
run 0 'a recording, as recorded' run --trace "$work/t.trace" --memory 4M --policy prefetch=none
quiet
run 0 'a recording with other memory' run --trace "$work/t.trace" --memory 8M --policy prefetch=none
says 'note: ' 'was recorded with --memory 4194304'
run 0 'a recording with another policy' run --trace "$work/t.trace" --memory 4M --policy uvmsmart
says 'was recorded with another policy'
run 0 'compare of a recording, one as recorded' compare --trace "$work/t.trace" --memory 4M --memory 8M --policy uvmsmart \
	--policy prefetch=none
quiet
run 0 'compare of a recording, none as recorded' compare --trace "$work/t.trace" --memory 8M --policy uvmsmart
says 'was recorded with --memory 4194304' 'was recorded with another policy'
printf 'uvmp-trace 1\n# import nvprof, faults only\nrange,200000,8388608\n,0,r,200000\n' >"$work/f.trace"
run 0 'a list of faults' run --trace "$work/f.trace" --memory 4M
says 'lists faults only'
printf 'uvmp-trace 1\n# import addresses\nrange,200000,8388608\n,0,r,200000\n' >"$work/f.trace"
run 0 'a list of accesses' run --trace "$work/f.trace" --memory 4M
quiet
printf 'bfs,TBN,0,0x200000\n' >"$work/batches"
run 0 'import of faults' import uvmsmart-batches "$work/batches" --benchmark bfs --prefetcher TBN
prints '# import uvmsmart-batches, faults only'

# limited NAME SUBCOMMAND ARGUMENT...: no file may grow beyond one block (512 bytes or 1 KiB): one line says so, no signal ends it
limited() {
	name="$1, beyond the limit on file sizes"
	shift
	(ulimit -f 1 && exec "$uvmsim" "$@" >/dev/null 2>"$work/err" </dev/null)
	status=$?
	if [ $status = 2 ] && [ "$(grep -c '^uvmsim: ' "$work/err")" = 1 ]; then ok "$name"; else fail "$name: exit status $status"; fi
}
limited --log run --workload regular:bytes=10m --log "$work/limited"
limited 'a trace' trace --workload regular:bytes=10m --output "$work/limited"
if [ -c /dev/full ]; then
	run 2 '--log on a full disk' run $w --log /dev/full
fi
# -- the manual page --------------------------------------------------------------------------------------------------
for command in run compare bound curve sweep trace explain import measured list; do
	"$uvmsim" help $command | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | while read -r option; do
		grep -q -e "Fl -${option#--}\( \|\$\)" docs/uvmsim.1 || echo "$command $option"
	done
done >"$work/out"
if [ -s "$work/out" ]; then fail 'docs/uvmsim.1 has every option' "$(cat "$work/out")"; else ok 'docs/uvmsim.1 has every option'; fi
for words in 'Fl -help | h' 'Fl V' 'Cm help' '1.25' '5%'; do
	if grep -q -w -e "$words" docs/uvmsim.1; then ok "docs/uvmsim.1: $words"; else fail "docs/uvmsim.1: $words"; fi
done

exit $failed
