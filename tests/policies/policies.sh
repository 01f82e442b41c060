#!/bin/sh
# Every preset, and the best combination of keys that search.sh finds, on the workloads of workloads.txt.
# usage: policies.sh UVMSIM BUILD
# In sets of one scale and one GPU each: the base size on titan-v; 16 times that size on titan-v, and on two more GPUs with a few
# presets and sizes. At 16 times the size a preset is cut when it takes four times as long as nvidia-595. Writes
# docs/policies-results.md (base size) and docs/policies-results-large.md, with pictures. Finished comparisons and runs of the
# search are kept under BUILD/policies/ and made again only when the program or their arguments have changed, so that an
# interrupted run goes on where it was.
# Environment: POLICIES_SHORT=1: two workloads, two sizes, one seed, a search over few keys at one of the sizes.
# POLICIES_GPUS, POLICIES_SIZES, POLICIES_WORKLOADS='WORD...', POLICIES_SCALE=1|16: only these. With any of these four or
# POLICIES_SHORT the pages are written under BUILD/policies/part/ (short/).
# POLICIES_SEARCH=SIZES: a search at these sizes only, 0: none.
# POLICIES_STRINGS=PAGE: instead of a search the strings that the page has, the presets and the best strings of other sizes run, and
# the fastest is taken. The page says at which revision they were found.
# POLICIES_KEPT=1: nothing runs; the pages show what is kept.
# POLICIES_REUSE=1: results of other builds of uvmsim are taken, but for presets that they lack or that have changed. The pages
# then say which revision each comparison is of.
# POLICIES_JOBS=N: runs at a time (processors). POLICIES_LIMIT=SECONDS: of one comparison (default 3600).
# Exit status: 1 if something that must hold does not (check.awk).
set -eu
uvmsim=$1 build=$2
here=$(dirname "$0")
short=${POLICIES_SHORT:-}
limit=${POLICIES_LIMIT:-3600}
jobs=${POLICIES_JOBS:+--jobs $POLICIES_JOBS}
export SEARCH_JOBS="${POLICIES_JOBS:-$(nproc)}"
out=docs top=$build/policies
[ -z "${POLICIES_GPUS:-}${POLICIES_SIZES:-}${POLICIES_SCALE:-}${POLICIES_WORKLOADS:-}" ] || out=$top/part
if [ -n "$short" ]; then top=$top/short out=$top; fi
case ${POLICIES_SCALE:-} in '' | 1 | 16) ;; *)
	echo "policies: POLICIES_SCALE=\"$POLICIES_SCALE\" is not accepted; 1 or 16" >&2
	exit 2
	;;
esac
mkdir -p "$top" "$out"
strings_of=
if [ -n "${POLICIES_STRINGS:-}" ]; then
	export SEARCH_DESCENTS=0
	strings_of=$(sed -n 's/.* The search was made at revision \([^ ]*\): .*/\1/p; s/^The figures are of revision \(.*\)\.$/\1/p' \
		"$POLICIES_STRINGS" | tail -n 1)
	[ -n "$strings_of" ] || {
		echo "policies: $POLICIES_STRINGS does not say of which revision its strings are" >&2
		exit 2
	}
	grep '^uvmsim compare .* --seeds [0-9]* --policy "[^"]*"$' "$POLICIES_STRINGS" >"$top/page" || :
fi
trap 'rm -f "$top"/*.part "$top"/*/*.part; exit 130' INT TERM
program=$(cksum <"$uvmsim")
sh "$here/search.sh" "$uvmsim" --check >"$top/checked" || { cat "$top/checked" >&2 && exit 1; }
grep 'has no place' "$top/checked" >&2 || :
sh "$here/search.sh" "$uvmsim" --eligible >"$top/eligible"
"$uvmsim" list presets >"$top/list"
grep '^[a-z]' "$top/list" >"$top/all"
# Revisions of the programs whose results are kept: CKSUM BYTES REVISION.
if ! grep -qs "^$program " "$top/revisions"; then
	revision=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
	git -C "$here" diff --quiet HEAD -- ../../libuvmpolicy ../../include ../../adapters 2>/dev/null ||
		revision="$revision with changes"
	echo "$program $revision" >>"$top/revisions"
fi
revision_of() { # CKSUM BYTES ...
	awk -v key="$1" 'BEGIN { split(key, k, " ") }
		$1 == k[1] && $2 == k[2] { sub(/^[0-9]+ [0-9]+ /, ""); print; is_known = 1; exit }
		END { if (!is_known) print "unknown" }' "$top/revisions"
}

# Presets that draw, on workloads that do not (`two` in workloads.txt). Of all others there two seeds must do the same, and
# stand for five.
drawing=$("$uvmsim" list presets | awk '/^[a-z]/ { name = $1 } /(^|[ =])(prefetch|prefetch_full|evict)=random/ { print name }' |
	sort -u | sed 's/^/--policy preset=/' | tr '\n' ' ')

add_run() { # KEY: of the results that the pages take
	printf '%s|%s|%s|%s|%s|%s\n' "$csv" "$name" "$size" "${key#* * }" "$label" "$(revision_of "$1")" >>"$kept/runs"
}

# It shows on a terminal how far it is.
compare() { # CSV LABEL ARGUMENTS [POLICY]: made again only if need be. LABEL: of POLICY in the pages
	csv=$1 label=$2 arguments=$3
	shift 3
	key="$program $arguments${1:+ --policy \"$1\"}"
	if [ -f "$csv.key" ]; then
		had=$(cat "$csv.key")
		if [ "$had" = "$key" ] || { [ -n "${POLICIES_REUSE:-}" ] && [ "${had#* * }" = "${key#* * }" ]; }; then
			add_run "$had"
			return
		fi
	fi
	[ -z "${POLICIES_KEPT:-}" ] || return 0
	add_run "$key"
	[ ! -t 2 ] || echo "policies: $name at $size %, $gpu, $count of $all" >&2
	status=0
	[ $# = 0 ] || set -- --policy "$1"
	# shellcheck disable=SC2086 # words on purpose; none of them holds blanks
	timeout --foreground -s INT "$limit" "$uvmsim" $arguments "$@" $jobs --format csv >"$csv.part" </dev/null || status=$?
	rm -f "$csv.key"
	mv "$csv.part" "$csv"
	# What was cut short is shown as it is, and tried again the next time.
	if [ "$status" = 0 ] || [ "$status" = 2 ]; then echo "$key" >"$csv.key"; fi
}

# The complete runs of comparisons with seed 1: POLICY|TIME_NS.
times_of() { # CSV...
	for csv in "$@"; do
		awk -v csv="$csv" -v rate_in="${rates% *}" -v rate_out="${rates#* }" -f "$here/read.awk" -f "$here/known.awk" </dev/null
	done
}

# The presets' own runs are starts of the search, and so is the best string of the nearest size that has run, and of titan-v. When
# all sizes have run, the best strings of all sizes are starts.
search() { # KIND LABEL: `both`, that is without remote access, or `remote`
	dir=$kept/search/$name-$size
	mkdir -p "$dir"
	times_of "$kept/$name-$size-driver.csv" "$kept/$name-$size.csv" >"$dir/known"
	set -- "$1" "$2" "threshold=1 evict=lru2m granularity=256k plan=overlapped"
	others=$(nearest)
	[ "$pass" = 1 ] || others=$sizes
	for other in $others; do
		for file in "$kept/search/$name-$other/best-both" "$kept/search/$name-$other/best-$1"; do
			[ ! -s "$file" ] || set -- "$@" "$(cut -d'|' -f1 "$file")"
		done
	done
	for file in "$first/search/$name-$size/best-both" "$first/search/$name-$size/best-$1"; do
		[ ! -s "$file" ] || set -- "$@" "$(cut -d'|' -f1 "$file")"
	done
	[ "$1" = both ] || [ ! -s "$dir/best-both" ] || set -- "$@" "$(cut -d'|' -f1 "$dir/best-both")"
	if [ -n "$strings_of" ]; then # the strings of the page for this case, without remote access and with it
		awk -v head="uvmsim compare --gpu $gpu --workload $spec --oversub $size --seeds " -v kind="$1" 'index($0, head) == 1 {
			sub(/^[^"]*"/, "")
			sub(/"$/, "")
			print
			if (kind == "both") exit
		}' "$top/page" >"$dir/page"
		while read -r string; do set -- "$@" "$string"; done <"$dir/page"
	fi
	if [ "$scale" != 1 ]; then # and the best strings of earlier searches
		while IFS='|' read -r _ string; do set -- "$@" "${string#preset=}"; done <"$kept/strings"
	fi
	kind=$1 label=$2
	shift 2
	[ ! -t 2 ] || echo "policies: $name at $size %, $gpu, $count of $all: search, $label" >&2
	arguments="--gpu $gpu --workload $spec --oversub $size"
	[ -n "${POLICIES_KEPT:-}" ] || sh "$here/search.sh" "$uvmsim" "$dir" "$kind" "$arguments" "$@" </dev/null || {
		failed=1
		return 0
	}
	[ -s "$dir/best-$kind" ] || return 0
	compare "$kept/$name-$size-$kind.csv" "$label" "$case --seeds $seeds" "$(cut -d'|' -f1 "$dir/best-$kind")"
	time=$(times_of "$kept/$name-$size-$kind.csv" | cut -d'|' -f2)
	if [ "$time" != "$(cut -d'|' -f2 "$dir/best-$kind")" ]; then
		echo "policies: $name at $size %, $label: $time ns, and $(cut -d'|' -f2 "$dir/best-$kind") ns in the search" >&2
		failed=1
	fi
}

# Of the sizes that have run the one nearest to $size.
nearest() {
	echo "$sizes" | awk -v size="$size" '{
		for (i = 1; i <= NF && $i != size; i++) {
			ratio = $i < size ? size / $i : $i / size
			if (!best || ratio < least) { best = $i; least = ratio }
		}
		print best ? best : "none"
	}'
}

# Presets that reused results do not have, or that have changed since, and new results for them.
add_missing() { # SEEDS
	missing=$(awk -v csvs="$kept/$name-$size-driver.csv $kept/$name-$size.csv" -v names="$kept/presets" -v list="$top/list" \
		-f "$here/read.awk" -f "$here/missing.awk" </dev/null)
	[ -z "$missing" ] || compare "$kept/$name-$size-new.csv" '' "$case $missing--seeds $1"
}

run_case() {
	case="compare --gpu $gpu --workload $spec --oversub $size"
	runs=$seeds
	[ "$drawn" = five ] || [ "$seeds" = 1 ] || runs=2
	if [ "$scale" = 1 ]; then
		compare "$kept/$name-$size.csv" '' "$case $policies --seeds $runs"
	else
		compare "$kept/$name-$size-driver.csv" '' "$case --seeds $seeds" nvidia-595
		time=$(times_of "$kept/$name-$size-driver.csv" | cut -d'|' -f2)
		[ -z "$time" ] || compare "$kept/$name-$size.csv" '' "$case $policies --seeds $seeds --until $((4 * time))"
	fi
	[ -z "${POLICIES_REUSE:-}" ] || add_missing "$runs"
	[ "$runs" = "$seeds" ] || compare "$kept/$name-$size-drawn.csv" '' "$case $drawing--seeds $seeds"
	case " $searched " in *" $size "*) search both 'best of keys' && search remote 'best of keys, remote' ;; esac
}

csv() { # PROGRAM OPTIONS...: awk over all results of a set
	awk "$@" -v rate_in="${rates% *}" -v rate_out="${rates#* }" -v presets="$kept/presets" -v workloads="$kept/workloads" \
		-v runs="$kept/runs" -v seeds="$seeds" -v gpu="$gpu" -v strings_of="$strings_of" -v eligible="$top/eligible" -v scale="$scale" \
		-f "$here/read.awk" \
		-f "$here/$awk.awk" </dev/null
}

# Presets that are several times slower than nvidia-595 at each memory size of the base size, and steps on the way to others:
# `most` is without them.
slow='nvidia-block nvidia-batch uvmsmart-none uvmsmart-lru-od uvmsmart-random uvmsmart-ahead'

# The settings of a set; those of the environment go before.
set_up() { # SCALE GPU SIZES SEEDS PRESETS
	scale=$1 gpu=$2 sizes=$3 seeds=$4
	kept=$top
	[ "$scale.$gpu" = 1.titan-v ] || kept=$top/$scale-$gpu
	first=none
	[ "$scale.$gpu" = 1.titan-v ] || [ "$scale.$gpu" = 16.titan-v ] || first=$top/16-titan-v
	# of the link, in MB/s, in and out
	rates=$(sh "$here/search.sh" "$uvmsim" --link "$gpu")
	mkdir -p "$kept"
	grep -v '^#' "$here/strings.txt" >"$kept/strings"
	if [ -n "${POLICIES_SIZES:-}" ]; then sizes=$POLICIES_SIZES; fi
	case $5 in all) cp "$top/all" "$kept/presets" ;; most) grep -vxE "$(echo "$slow" | tr ' ' '|')" "$top/all" >"$kept/presets" ;;
	*) echo "$5" | tr ' ' '\n' >"$kept/presets" ;; esac
	policies='--policy all'
	[ "$5" = all ] || policies=$(grep -vx nvidia-595 "$kept/presets" | sed 's/^/--policy preset=/' | tr '\n' ' ' | sed 's/ $//')
	searched=$sizes
	[ -z "$short" ] || searched=150
	searched=${POLICIES_SEARCH-$searched}
	grep -v '^#' "$here/workloads.txt" | if [ -n "$short" ]; then grep '^\*'; else cat; fi |
		sed 's/^\*//; s/ *| */|/g' | awk -F'|' -v OFS='|' -v scale="$scale" -v only=" ${POLICIES_WORKLOADS:-} " '
			{ spec = scale == 1 ? $2 : $3 }
			spec != "-" && (only == "  " || index(only, " " $1 " ")) { print $1, spec, $4, $5, $6 }' >"$kept/workloads"
}

run_set() { # SCALE GPU SIZES SEEDS PRESETS
	if [ -n "${POLICIES_SCALE:-}" ] && [ "$POLICIES_SCALE" != "$1" ]; then return; fi
	case " ${POLICIES_GPUS:-$2} " in *" $2 "*) ;; *) return ;; esac
	set_up "$@"
	all=$(($(wc -l <"$kept/workloads") * $(echo "$sizes" | wc -w)))
	for pass in 1 2; do
		count=0
		: >"$kept/runs"
		for size in $sizes; do
			while IFS='|' read -r name spec _ drawn _; do
				count=$((count + 1))
				run_case
			done <"$kept/workloads"
		done
	done
	sort -s -t'|' -k3,3n "$kept/runs" >"$kept/runs.part" && mv "$kept/runs.part" "$kept/runs"
	awk=check
	csv || failed=1
	large=$([ "$scale" = 1 ] || echo -large)
	page="policies-results$large"
	[ -s "$top/$page" ] && is_first='' || is_first=1
	awk=report
	csv -v head="$here/head$large.md" -v picture="$page.svg" -v is_first="$is_first" -v is_large="$large" >>"$top/$page"
	[ "$gpu" = titan-v ] || return 0
	awk=heat
	csv >"$out/$page.svg"
}

failed=0
rm -f "$top/policies-results" "$top/policies-results-large"
if [ -n "$short" ]; then
	export SEARCH_NAMES='order threshold remote' SEARCH_SWEEPS=1 SEARCH_DESCENTS="${SEARCH_DESCENTS:-1}"
	run_set 1 titan-v '100 150' 1 all
else
	run_set 1 titan-v '100 110 125 150 200' 5 all
	[ -n "$strings_of" ] || export SEARCH_DESCENTS=1
	run_set 16 titan-v '150 110 200 300 125 105 100' 1 most
	export SEARCH_SWEEPS=1
	some='nvidia-595 nvidia-aggressive auto granularity-256k access-lru uvmsmart-pinned'
	for gpu in gtx-1080-ti h100-sxm; do run_set 16 "$gpu" '110 150 200' 1 "$some"; done
fi
for page in policies-results-large policies-results; do
	[ -s "$top/$page" ] || continue
	# the link to the large page, if there is one
	if [ -f "$out/policies-results-large.md" ]; then
		sed 's/^LARGE: //' "$top/$page"
	else
		sed '/^LARGE: /d' "$top/$page"
	fi >"$out/$page.md"
	rm "$top/$page"
done
exit "$failed"
