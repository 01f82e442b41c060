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
timeline "an order of pages, plan=unobtrusive" --workload random:bytes=8m,passes=1 --gpu uvmsmart --oversub 125 --policy preset=uvmsmart
timeline "pages of 64 KiB" --workload stream:bytes=8m,passes=1 --gpu gh200
timeline "a run that is cut off" --workload random:bytes=16m,passes=1 --gpu titan-v --until 1ms
mkdir "$work/<" # a path that holds </script>
printf 'uvmp-trace 1\nrange,200000000,2097152\n100000,0,w,200005000\n200000,0,r,200009000\n' >"$work/</script>.csv"
timeline "a trace" --trace "$work/</script>.csv" --gpu titan-v
refused "--timeline needs --gpu" run --workload regular:bytes=4m --timeline "$work/timeline"
refused "--timeline belongs to one run" compare --workload regular:bytes=4m --gpu titan-v --timeline "$work/timeline"
refused "$work/none/timeline: No such file" run --workload regular:bytes=4m --gpu titan-v --timeline "$work/none/timeline"
[ ! -e /dev/full ] || refused "--timeline /dev/full: No space" run --workload regular:bytes=4m --gpu titan-v --timeline /dev/full

exit $failed
