#!/bin/sh
# What runs show beside their tables: --timeline and --report.
# usage: report.sh BUILD
set -u
uvmsim=$1/uvmsim
root=$(dirname "$0")/../..
work=$(mktemp -d "$1/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
unset UVMP_POLICY

verdict() { # NAME STATUS
	[ "$2" = 0 ] && echo "ok   $1" && return
	failed=1
	echo "FAIL $1"
	tail -n 8 "$work/err" 2>/dev/null | sed 's/^/     /'
}
refused() { # WORDS-OF-THE-ERROR ARGUMENTS...: exit status 2, one line, with these words
	words=$1
	shift
	"$uvmsim" "$@" >"$work/out" 2>"$work/err"
	[ $? = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -- "$words" "$work/err"
	verdict "refused: $words" $?
}

# -- the timeline: JSON, tracks without overlaps, and sums that are those of the run --
timeline() { # NAME ARGUMENTS...
	name=$1
	shift
	"$uvmsim" run "$@" --format json >"$work/plain" 2>"$work/err" &&
		"$uvmsim" run "$@" --format json --timeline "$work/timeline" >"$work/run" 2>"$work/err" &&
		cmp "$work/plain" "$work/run" >>"$work/err" 2>&1 &&
		python3 "$root/tests/cli/timeline_check.py" "$work/timeline" "$work/run" 2>>"$work/err"
	verdict "timeline: $name" $?
}
timeline "evictions in both directions" --workload stencil:n=1408,tile=32,iterations=4 --gpu titan-v --memory 12M
timeline "prefetches and copies of the program" --workload regular:bytes=16m,passes=1 --gpu p100-pcie --policy prefetch=none
timeline "an order of pages, plan=unobtrusive" --workload random:bytes=8m,passes=1 --gpu uvmsmart --oversub 125 \
	--policy preset=uvmsmart
timeline "pages of 64 KiB" --workload stream:bytes=8m,passes=1 --gpu gh200
timeline "a run that is cut off" --workload random:bytes=16m,passes=1 --gpu titan-v --until 1ms
mkdir "$work/<" # a path that holds </script>
printf 'uvmp-trace 1\nrange,200000000,2097152\n100000,0,w,200005000\n200000,0,r,200009000\n' >"$work/</script>.csv"
timeline "a trace" --trace "$work/</script>.csv" --gpu titan-v
refused "--timeline needs --gpu" run --workload regular:bytes=4m --timeline "$work/timeline"
refused "--timeline belongs to one run" compare --workload regular:bytes=4m --gpu titan-v --timeline "$work/timeline"
refused "$work/none/timeline: No such file" run --workload regular:bytes=4m --gpu titan-v --timeline "$work/none/timeline"
[ ! -e /dev/full ] || refused "--timeline /dev/full: No space" run --workload regular:bytes=4m --gpu titan-v --timeline /dev/full

# -- the report: the data within it, read back --
# report NAME SUBCOMMAND ARGUMENTS...: the file, and with run and compare the same in JSON
report() {
	name=$1 sub=$2
	shift 2
	"$uvmsim" "$sub" "$@" --report "$work/report.html" >"$work/out" 2>"$work/err" || { verdict "report: $name" 1 && return; }
	echo null >"$work/run"
	case $sub in run | compare) "$uvmsim" "$sub" "$@" --format json >"$work/run" 2>>"$work/err" ;; esac
	python3 "$root/tests/cli/report_check.py" "$work/report.html" "$work/run" "uvmsim $sub " 2>>"$work/err"
	verdict "report: $name" $?
}
if "$uvmsim" bound --workload regular:bytes=4m --report "$work/report.html" 2>&1 >"$work/out" |
	grep -q 'install libjs-chart.js'; then
	echo "skipped: reports; uvmsim was built without libjs-chart.js"
else
	report "a run with time" run --workload stencil:n=1408,tile=32,iterations=4 --gpu titan-v --memory 12M
	report "a run without time" run --workload random:bytes=8m,passes=2 --oversub 125
	report "an order of pages" run --workload random:bytes=8m,passes=2 --oversub 125 --policy 'prefetch=none evict=lru4k'
	report "a run that is cut off" run --workload random:bytes=16m,passes=1 --gpu titan-v --until 1ms
	report "draws of a model" run --workload regular:bytes=4m,passes=1 --gpu titan-v --uncertainty 3
	report "a trace whose name is a tag" run --trace "$work/</script>.csv"
	grep -c '</script>' "$work/report.html" >"$work/err"
	[ "$(cat "$work/err")" = 3 ] # those of the file itself
	verdict "report: the name does not end a script" $?
	report "a comparison" compare --workload regular:bytes=4m,passes=2 --workload random:bytes=4m,passes=2 --gpu titan-v \
		--memory 4M --memory 2M --policy preset=nvidia-595 --policy prefetch=none --seeds 2 --jobs 2
	report "presets, some of which do not run" compare --workload regular:bytes=4m --policy 'preset=uvmsmart*' --oversub 125
	grep -q '"not_drawn":[1-9]' "$work/report.html"
	verdict "report: says how many runs have no pictures" $?
	report "bounds" bound --workload stencil:n=1408,tile=32,iterations=4
	"$uvmsim" run --workload random:bytes=8m,passes=2 --oversub 125 --log "$work/log" --format json >"$work/logged" 2>"$work/err"
	report "a log" explain "$work/log"
	python3 "$root/tests/cli/report_check.py" "$work/report.html" "$work/logged" "uvmsim explain " 2>"$work/err"
	verdict "report: the pictures of a log are those of its run" $?
	refused "$work/none/r.html: No such file" run --workload regular:bytes=4m --report "$work/none/r.html"
	refused "$work/none/r.html: No such file" explain "$work/log" --report "$work/none/r.html"
	refused "$work/none/r.html: No such file" bound --workload regular:bytes=4m --report "$work/none/r.html"
	[ ! -e /dev/full ] || refused "--report /dev/full: No space" run --workload regular:bytes=4m --report /dev/full
fi

# -- plots --
LC_ALL=C
export LC_ALL
# Two rows of 2 MiB that do not fit together: a, then b, then a again.
cat >"$work/trace.csv" <<'E'
uvmp-trace 1
range,200000000,2097152
range,200400000,2097152
0,0,r,200000000
1,0,r,200400000
2,0,r,200000000
E
"$uvmsim" plot --trace "$work/trace.csv" --memory 2M --policy prefetch=none --rows 2 --brief >"$work/out" 2>"$work/err"
cat >"$work/want" <<'E'
   + first fetched  . resident  x evicted  # fetched again  blank: in CPU memory
    0 MiB|                 +++++++++++++++++xxxxxxxxxxxxxxxxx#################|
    2 MiB|                                  +++++++++++++++++xxxxxxxxxxxxxxxxx|
          0               time, counted in faults fetched -->                3
E
diff "$work/want" "$work/out" >"$work/err"
verdict "plot: heat map of a known trace" $?
for option in --brief --rows=2; do
	"$uvmsim" plot --trace "$work/trace.csv" --kind bars $option >"$work/out" 2>"$work/err"
	[ $? = 2 ] && grep -q 'plot: --rows and --brief belong to --kind heat' "$work/err"
	verdict "plot: bars have no $option" $?
done
# Two small ranges far apart: no row between them, and a line that says where each of them lies.
printf 'uvmp-trace 1\nrange,100000000000,65536,a\nrange,108000000000,65536\n,0,r,100000000000\n,0,r,108000000000\n' \
	>"$work/trace.csv"
"$uvmsim" plot --trace "$work/trace.csv" --memory 2M --policy prefetch=density --rows 4 >"$work/out" 2>"$work/err"
sed 1,2d "$work/out" >"$work/got"
cat >"$work/want" <<'E'
128.0 KiB on a GPU with 2.0 MiB; one row: 32.0 KiB
    0 KiB  a, 64.0 KiB at 0x100000000000
 2048 KiB  64.0 KiB at 0x108000000000
   + first fetched  . resident  x evicted  # fetched again  blank: in CPU memory
    0 KiB|                       +++++++++++++++++++++++......................|
   32 KiB|                       +++++++++++++++++++++++......................|
 2048 KiB|                                              ++++++++++++++++++++++|
 2080 KiB|                                              ++++++++++++++++++++++|
          0               time, counted in faults fetched -->                2
E
diff "$work/want" "$work/got" >"$work/err"
verdict "plot: no rows between allocations" $?
{
	echo 'uvmp-trace 1'
	for i in 0 1 2 3 4 5 6 7 8 9; do printf 'range,20%d000000,4096,r%d\n,0,r,20%d000000\n' $i $i $i; done
} >"$work/trace.csv"
"$uvmsim" plot --trace "$work/trace.csv" --memory 32M >"$work/out" 2>"$work/err"
[ "$(grep -c ' KiB at 0x20' "$work/out")" = 8 ] && grep -q '^           and 2 more allocations$' "$work/out" &&
	[ "$(grep -c '|.*[+].*|' "$work/out")" = 10 ]
verdict "plot: eight allocations are named" $?
plot() { # NAME ARGUMENTS...: 80 columns of ASCII, no colours
	name=$1
	shift
	"$uvmsim" plot "$@" >"$work/out" 2>"$work/err" &&
		awk 'length > 80 || /[^ -~]/ {bad = 1; print > "/dev/stderr"} END {exit bad || NR < 5}' "$work/out" 2>>"$work/err"
	verdict "plot: $name" $?
}
plot "heat maps of two policies" --workload stencil:n=1408,iterations=4 --gpu titan-v --memory 12M --policy preset=nvidia-595 \
	--policy preset=auto
[ "$(grep -c 'one row: 1.0 MiB' "$work/out")" = 2 ]
verdict "plot: two pictures" $?
plot bars --kind bars --workload random:bytes=4m,passes=2 --workload regular:bytes=4m --policy prefetch=none \
	--policy prefetch=density
faults() { "$uvmsim" run --workload regular:bytes=4m --policy "$1" --format json | sed 's/.*"far_faults": \([0-9]*\).*/\1/'; }
awk -v a="$(faults prefetch=none)" -v b="$(faults prefetch=density)" '
	/^regular/ {there = 1}
	there && /^prefetch=none/ {good += $(NF - 2) == a}
	there && /^prefetch=density/ {good += $(NF - 2) == b && $(NF - 1) == sprintf("%.2f", a / b)}
	/^geometric/ {exit}
	END {exit good != 2}' "$work/out"
verdict "plot: bars say the far faults of the runs" $?
plot curve --kind curve --workload stencil:n=1408,iterations=4 --policy preset=nvidia-595 --policy prefetch=none
grep -q '^  b  prefetch=none$' "$work/out" && grep -q "Belady's optimum" "$work/out"
verdict "plot: letters of the curve" $?
LC_ALL=C.UTF-8 "$uvmsim" plot --workload regular:bytes=4m >"$work/out" 2>"$work/err" && grep -q '│.*█.*│' "$work/out" &&
	! grep -q "$(printf '\033')" "$work/out"
verdict "plot: block characters in UTF-8, no colours in a file" $?
refused "heat maps; at most" plot --workload regular:bytes=4m --policy 'preset=*'
refused "--kind head: not one of heat, bars, curve" plot --workload regular:bytes=4m --kind head
refused "unknown option --log" plot --workload regular:bytes=4m --log "$work/log"

exit $failed
