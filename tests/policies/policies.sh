#!/bin/sh
# Every preset on every workload of workloads.txt at five memory sizes. usage: policies.sh UVMSIM BUILD
# Writes docs/policies-results.md and docs/policies-results.svg; finished comparisons are kept under BUILD/policies/ and made again
# only when the program or their arguments have changed, so that an interrupted run goes on where it was.
# Environment: POLICIES_SHORT=1: two workloads, two sizes, one seed; printed nowhere but under BUILD/policies/short/.
# POLICIES_LIMIT=SECONDS: of one comparison (default 3600). Exit status: 1 if something that must hold does not (check.awk).
set -eu
uvmsim=$1 build=$2
here=$(dirname "$0")
short=${POLICIES_SHORT:-}
limit=${POLICIES_LIMIT:-3600}
gpu=titan-v sizes='100 110 125 150 200' seeds=5 kept=$build/policies out=docs
if [ -n "$short" ]; then sizes='100 150' seeds=1 kept=$build/policies/short out=$build/policies/short; fi
mkdir -p "$kept"
trap 'rm -f "$kept"/*.part; exit 130' INT TERM
program=$(cksum <"$uvmsim")
grep -v '^#' "$here/workloads.txt" | if [ -n "$short" ]; then grep '^\*'; else cat; fi |
	sed 's/^\*//; s/ *| */|/g' >"$kept/workloads"
"$uvmsim" list presets | grep '^[a-z]' >"$kept/presets"

# Presets that draw, on workloads that do not (`two` in workloads.txt). Of all others there two seeds must do the same, and stand for five.
drawing=$("$uvmsim" list presets | awk '/^[a-z]/ { name = $1 } /(^|[ =])(prefetch|prefetch_full|evict)=random/ { print name }' |
	sort -u | sed 's/^/--policy preset=/' | tr '\n' ' ')

# It uses all processors, and shows on a terminal how far it is.
compare() { # CSV ARGUMENTS: made again only if need be
	csv=$1 arguments=$2
	printf '%s|%s|%s|%s\n' "$csv" "$name" "$size" "$arguments" >>"$kept/runs"
	if [ -f "$csv.key" ] && [ "$(cat "$csv.key")" = "$program $arguments" ]; then return; fi
	[ ! -t 2 ] || echo "policies: $name at $size %, $count of $all" >&2
	status=0
	# shellcheck disable=SC2086 # words on purpose; none of them holds blanks
	timeout --foreground -s INT "$limit" "$uvmsim" $arguments --format csv >"$csv.part" </dev/null || status=$?
	rm -f "$csv.key"
	mv "$csv.part" "$csv"
	# What was cut short is shown as it is, and tried again the next time.
	if [ "$status" = 0 ] || [ "$status" = 2 ]; then echo "$program $arguments" >"$csv.key"; fi
}

count=0 all=$(($(wc -l <"$kept/workloads") * $(echo "$sizes" | wc -w)))
: >"$kept/runs"
while IFS='|' read -r name spec _ drawn _; do
	for size in $sizes; do
		count=$((count + 1))
		case="compare --gpu $gpu --workload $spec --oversub $size"
		if [ "$drawn" = five ] || [ "$seeds" = 1 ]; then
			compare "$kept/$name-$size.csv" "$case --policy all --seeds $seeds"
		else
			compare "$kept/$name-$size.csv" "$case --policy all --seeds 2"
			compare "$kept/$name-$size-drawn.csv" "$case $drawing--seeds $seeds"
		fi
	done
done <"$kept/workloads"

status=0
csv() { # PROGRAM OPTIONS...: awk over all results
	awk "$@" -v presets="$kept/presets" -v workloads="$kept/workloads" -v runs="$kept/runs" -v seeds="$seeds" -v gpu="$gpu" \
		-f "$here/read.awk" -f "$here/$program.awk" </dev/null
}
program=check
csv || status=1
program=report
csv -v head="$here/head.md" >"$kept/document"
program=heat
csv >"$kept/picture"
mv "$kept/document" "$out/policies-results.md"
mv "$kept/picture" "$out/policies-results.svg"
exit "$status"
