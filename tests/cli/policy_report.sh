#!/bin/sh
# The pages of `make policies`: the tables of auto, the statements that results are checked against, and results of other revisions.
# usage: policy_report.sh [UVMSIM]
set -u
cd "$(dirname "$0")/../.." || exit 1
uvmsim=${1:-build/uvmsim}
[ -d "$uvmsim" ] && uvmsim=$uvmsim/uvmsim
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	[ ! -s "$work/out" ] || sed 's/^/     /' "$work/out" | head -n 30
}
has() { # NAME TEXT...
	name=$1
	shift
	for text in "$@"; do
		if grep -qF -e "$text" "$work/out"; then ok "$name: $text"; else fail "$name: without $text"; fi
	done
}

# -- results made by hand: two workloads, two sizes, three presets, one seed --
printf '%s\n' nvidia-595 auto auto-local >"$work/presets"
printf '%s\n' 'a|a:x=1|fixed|two|the first' 'b|b:x=1|fixed|two|the second' >"$work/workloads"
echo 'nvidia-595|prefetch=density|both' >"$work/eligible"
row() { # PRESET POLICY TIME_NS IN_BYTES [BOUND_IN]; the last copy ends with the program
	echo "\"$1\",\"$2 link_ratio=100\",1,1,\"\",$3,$4,1000,10,0,100,10,0,2097152,2097152,${5:-100},0,0,0,$3"
}
results() { # CASE AUTO_NS AUTO_IN LOCAL_NS
	{
		printf %s preset,policy,seed,complete,error,time_ns,h2d_bytes,d2h_bytes,far_faults,refaults,accesses,pages_touched,
		printf %s evictions,memory_bytes,footprint_bytes,bound_h2d_bytes,bound_d2h_bytes,remote_h2d_bytes,remote_d2h_bytes,
		echo link_end_ns
		row nvidia-595 prefetch=density 1000000 9000
		row auto 'prefetch=auto remote=auto' "$2" "$3"
		row auto-local 'prefetch=auto' "$4" 9000
	} >"$work/$1.csv"
	for kind in both remote; do
		{
			head -n 1 "$work/$1.csv"
			row '' prefetch=none "$([ $kind = both ] && echo 500000 || echo 200000)" 9000
		} >"$work/$1-$kind.csv"
	done
}
results a-100 1000000 9000 1000000
results a-200 250000 9000 500000
results b-100 1000000 9000 1000000
results b-200 1250000 19000 550000
list_runs() {
	for name in a b; do
		for size in 100 200; do
			echo "$work/$name-$size.csv|$name|$size|compare --workload $name --oversub $size --policy all|"
			[ $size = 100 ] && continue
			echo "$work/$name-$size-both.csv|$name|$size|compare --oversub $size --policy \"prefetch=none\"|best of keys"
			echo "$work/$name-$size-remote.csv|$name|$size|compare --oversub $size --policy \"prefetch=none\"|best of keys, remote"
		done
	done
}
list_runs | sed 's/$/|0123abc/' >"$work/runs"
program() { # NAME [SCALE]
	large=$([ "${2:-1}" = 1 ] || echo -large)
	awk -v is_large="$large" -v presets="$work/presets" -v workloads="$work/workloads" -v runs="$work/runs" -v seeds=1 \
		-v gpu=titan-v -v rate_in=10000 -v rate_out=10000 -v eligible="$work/eligible" -v scale="${2:-1}" -v is_first=1 \
		-v head=/dev/null -f tests/policies/read.awk -f "tests/policies/$1.awk" </dev/null >"$work/out" 2>&1
}
program report || fail 'report'
cp "$work/out" "$work/page"
section() { # HEADING
	awk -v heading="$1" '/^## / { is_it = $0 == heading } is_it' "$work/page" >"$work/out"
}
section '## auto'
has auto 'with remote access' '| [a](#a) | 1.00 | 4.00 (+25 %) |' '| [b](#b) | 1.00 | 0.80 (+525 %) |' \
	'| geometric mean | 1.00 | 1.79 (+180 %) |' '| worst | 1.00 | 0.80 (+525 %) |' '| bytes, at most | 1.00 | 2.00 |'
section '## auto-local'
has auto-local 'without remote access' '| [a](#a) | 1.00 | 2.00 (+0 %) |' '| [b](#b) | 1.00 | 1.82 (+10 %) |'
cp "$work/page" "$work/out"
has report 'The figures are of revision 0123abc.'
list_runs | sed 's/$/|0123abc/; 1s/0123abc/fedc/' >"$work/runs"
program report || fail 'report'
has 'two revisions' '| fedc | 1 | a 100 % |' '| 0123abc | 7 | all others |'

# -- cut at four times the time of nvidia-595 --
cp "$work/a-200.csv" "$work/whole"
sed -i '/^"auto",/s/,1,1,"",/,1,0,"a: cut by --until: not done by 4000000 ns",/' "$work/a-200.csv"
program report 16 || fail 'report, cut'
has cut 'Cut at four times the time of nvidia-595: auto.' '| auto | **1.00** | >2.24 |' '| a | 1.00 | <0.25 |' \
	'| geometric mean | 1.00 | 0.45 (+525 %) |' '| worst | 1.00 | 0.25 (+525 %) |' '| a | 1.00 | 2.00 (+0 %) |'
program heat 16 || fail 'heat, cut'
has cut '<path fill="#e97a47" d="M'
if program check 16; then ok 'check: a cut run holds'; else fail 'check: a cut run holds'; fi
if program check; then
	fail 'not noticed: a cut run at the base size'
else
	has check 'auto: 0 of 1 runs are complete: a: cut by --until'
fi
mv "$work/whole" "$work/a-200.csv"

# -- statements --
list_runs | sed 's/$/|0123abc/' >"$work/runs"
if program check; then ok 'check: the results hold'; else fail 'check: the results hold'; fi
wrong() { # TEXT AUTO_NS AUTO_IN LOCAL_NS: of a at 200 %
	results a-200 "$2" "$3" "$4"
	if program check; then fail "not noticed: $1"; else has 'check' "$1"; fi
}
wrong 'in_bytes 2500001 in 250000 ns, and the link has 10000 MB/s' 250000 2500001 500000
results a-200 250000 2500000 500000
if program check; then ok 'check: as much as the link carries'; else fail 'check: as much as the link carries'; fi
wrong 'auto: took no time' 0 0 500000
echo 'auto-local|prefetch=auto|both' >>"$work/eligible"
wrong 'best of keys: 500000 ns, and auto-local 499999 ns' 250000 9000 499999

# -- a run takes at least the time that the link needs for its bytes: 10 and 20 bytes a us --
for numbers in 40000,200,100,0,0 5000,300,0,0,0 9000,60,40,0,0 9000,0,0,300,60; do
	echo "\"prefetch=none link_ratio=100\",$numbers,true,"
done >"$work/rows"
echo '"link_ratio=200",5000,300,0,0,0,true,' >>"$work/rows"
{
	echo policy,time_ns,h2d_bytes,remote_h2d_bytes,d2h_bytes,remote_d2h_bytes,complete,error
	cat "$work/rows"
} >"$work/comparison"
awk -v what=case -v rate_in=10 -v rate_out=20 -f tests/policies/read.awk -f tests/policies/ablation_times.awk \
	"$work/comparison" >"$work/out"
has 'the link' 'case|1|1.333333|1.000000' 'case|2|4.000000|0.333333' 'case|3|2.222222|1.200000' 'case|4|8.000000|1.000000'
for times in 5000,300,0 9000000000,300,0; do
	printf '%s\n' policy,complete,seed,time_ns,h2d_bytes,remote_h2d_bytes,d2h_bytes,remote_d2h_bytes \
		"auto link_ratio=100,1,1,$times,0,0"
done >"$work/comparison"
awk -v csv="$work/comparison" -v rate_in=10 -v rate_out=20 -f tests/policies/read.awk -f tests/policies/known.awk </dev/null \
	>"$work/out"
has 'starts of a search' 'auto link_ratio=100|30000' 'auto link_ratio=100|9000000000'

# -- programs drawn at random --
draw() { awk -v seed="$1" -v count="$2" -f tests/policies/draw.awk -f "tests/policies/drawn${3:-}.awk"; }
draw 1 300 >"$work/drawn"
if draw 1 300 | cmp -s - "$work/drawn"; then ok 'drawn: a seed draws the same'; else fail 'drawn: a seed draws the same'; fi
if draw 2 300 | cmp -s - "$work/drawn"; then fail 'drawn: seeds differ'; else ok 'drawn: seeds differ'; fi
if [ "$(sort -u "$work/drawn" | wc -l)" = 300 ]; then ok 'drawn: all differ'; else fail 'drawn: all differ'; fi
if [ "$(draw 1 100 | cksum)" = '4265203332 8152' ]; then # the figures of docs/auto.md are of these
	ok 'drawn: the programs of the page'
else
	fail 'drawn: other programs than those of the page'
fi
draw 1 300 _wide >"$work/wide"
if [ "$(sort -u "$work/wide" | wc -l)" = 300 ]; then ok 'drawn, wide: all differ'; else fail 'drawn, wide: all differ'; fi
if [ "$(draw 1 100 _wide | cksum)" = '1365645258 8096' ]; then
	ok 'drawn, wide: the programs of the page'
else
	fail 'drawn, wide: other programs than those of the page'
fi
for seed in -1 abc 2147483647; do
	if draw $seed 1 >"$work/out" 2>&1; then
		fail "drawn: seed $seed"
	else
		has "drawn: seed $seed" "drawn: seed: $seed is not accepted"
	fi
done
for count in 0 10001 x; do
	if draw 1 $count >"$work/out" 2>&1; then
		fail "drawn: count $count"
	else
		has "drawn: count $count" "drawn: count: $count is not"
	fi
done
printf '%s\n' 'a 110 p:x=1|1|4|0.5' 'a 110 p:x=1|2|0.985|1.015' 'b 150 q|1|0.98|1' 'b 150 q|2|1|1' 'b 200 r|1|1|1' \
	'b 200 r|2|1|1.022' >"$work/results"
awk -v against=preset=nvidia-595 -f tests/policies/drawn_report.awk "$work/results" >"$work/out"
has 'drawn' '| `q` | `b`, 150 % | 0.98; 1.00 | 1.00; 1.00 |' '| `r` | `b`, 200 % | 1.00; 1.00 | 1.00; 1.02 |' \
	'| 3 programs |' '| `auto` | 1.58 | 0.98 | 1 | 0.79 | 1.00 | 0 |' '| `auto remote=off` | 0.99 | 0.98 | 0 | 1.01 | 1.02 | 1 |'
if grep -q 'p:x' "$work/out"; then fail 'drawn: lists what misses nothing'; else ok 'drawn: lists only what misses'; fi
runs_of_one() { # RUNS...: indexes
	for index; do echo "a 110 p|$index|1|1"; done |
		awk -v against=preset=nvidia-595 -f tests/policies/drawn_report.awk >"$work/out" 2>&1
	[ $? = 1 ]
}
if runs_of_one 1; then has 'drawn' 'a 110 p: 1 runs instead of 2'; else fail 'drawn: 1 of 2 runs'; fi
if runs_of_one 1 2 2; then has 'drawn' 'a 110 p: 3 runs instead of 2'; else fail 'drawn: 3 runs'; fi
if runs_of_one; then has 'drawn' 'no results'; else fail 'drawn: no runs'; fi
drawn() { DRAWN_PROGRAMS=$work/programs sh tests/policies/drawn.sh "$uvmsim" >"$work/out" 2>&1; }
row_of() { # POLICY: what the table of one program must say, from the runs themselves
	"$uvmsim" compare --gpu titan-v --workload regular:bytes=32m,passes=4 --oversub 150 --format csv --policy preset=nvidia-595 \
		--policy "$1" 2>/dev/null | awk -v what=x -v rate_in="${rates% *}" -v rate_out="${rates#* }" -f tests/policies/read.awk \
		-f tests/policies/ablation_times.awk | awk -F'|' '{ printf "%.2f | %.2f | %d | %.2f |", $3, $3, $3 < 1 / 1.02, $4 }'
}
rates=$(sh tests/policies/search.sh "$uvmsim" --link titan-v)
printf '# a program, twice\n\ntitan-v 150 regular:bytes=32m,passes=4\ntitan-v 150 regular:bytes=32m,passes=4' >"$work/programs"
if drawn; then
	has 'drawn' '| 1 programs |' "| \`auto\` | $(row_of preset=auto)" "| \`auto remote=off\` | $(row_of 'preset=auto remote=off')"
else
	fail 'drawn.sh'
fi
cp tests/policies/sets.txt "$work/programs"
if drawn; then has 'drawn: sets of data in turn' '| 30 programs |'; else fail 'drawn.sh: sets of data in turn'; fi
# The worst known programs for preset=auto: none is more than 2 % slower than with the driver, with remote access or without.
slower=$(awk -F'|' '$2 ~ /^ `auto/ && NF > 6 {printf "%d ", $5}' "$work/out")
if [ "$slower" = '0 0 ' ]; then
	ok 'sets of data in turn: auto is never slower'
else
	fail "sets of data in turn: slower: $slower"
fi
# Where all data fit: batches of few blocks, and of many.
printf 'titan-v %s regular:bytes=64m,passes=2\n' 150 200 >"$work/programs"
echo 'h100-sxm 150 tealeaf:n=768' >>"$work/programs"
if DRAWN_OVER=100 DRAWN_AGAINST=preset=nvidia-aggressive drawn; then
	has 'drawn: at 100 %' 'Speed-up over nvidia-aggressive,' '| 2 programs |'
else
	fail 'drawn.sh: at 100 %'
fi
slower=$(awk -F'|' '$2 ~ /^ `auto/ && NF > 6 {printf "%d ", $5}' "$work/out")
if [ "$slower" = '0 0 ' ]; then ok 'drawn: at 100 % auto is not slower'; else fail "drawn: at 100 %: slower: $slower"; fi
echo 'titan-v 150 synthetic:pages=33' >"$work/programs"
drawn
if [ $? = 1 ]; then has 'drawn.sh' 'pages=33 is not accepted'; else fail 'drawn.sh: a parameter out of range'; fi

# -- results of another program --
make_page() { # [VARIABLE=VALUE]
	env POLICIES_SCALE=1 POLICIES_WORKLOADS=regular POLICIES_SIZES=150 POLICIES_SEARCH=0 "$@" \
		sh tests/policies/policies.sh "$uvmsim" "$work" >"$work/out" 2>&1 || fail "policies.sh $*"
	cp "$work/policies/part/policies-results.md" "$work/out"
}
kept=$work/policies
make_page POLICIES_JOBS=2
cp "$work/out" "$work/first"
has 'a page' "The figures are of revision $(git rev-parse --short HEAD 2>/dev/null || echo unknown)" '| granularity-64k |'
figures() { sed -n '/^## The fastest/,/^## Commands/p' "$1"; }
key=$kept/regular-150.csv.key
sed -i 's/^[0-9]* [0-9]* /111 222 /' "$key"
echo '111 222 0ld0ld0' >>"$kept/revisions"
sed -i '/"granularity-64k"/d; /"safe"/s/threshold=1 /threshold=2 /' "$kept/regular-150.csv"
make_page POLICIES_REUSE=1
has 'reused' '| 0ld0ld0 | 1 | regular 150 % |' '--policy preset=granularity-64k --policy preset=safe --seeds 2'
figures "$work/out" >"$work/reused"
if figures "$work/first" | cmp -s - "$work/reused"; then ok 'reused: the same figures'; else fail 'reused: the same figures'; fi
make_page POLICIES_SEARCH=0
if cmp -s "$work/first" "$work/out"; then ok 'not reused: made again'; else fail 'not reused: made again'; fi

# -- the strings of a page instead of a search --
string='prefetch=block evict=lru2m plan=overlapped'
{
	echo 'The figures are of revision 0ld0ld0.'
	spec=$(sed -n 's/^\**regular *| *\([^ |]*\) .*/\1/p' tests/policies/workloads.txt)
	echo "uvmsim compare --gpu titan-v --workload $spec --oversub 150 --seeds 5 --policy \"$string\""
} >"$work/strings.md"
make_page POLICIES_SEARCH=150 POLICIES_STRINGS="$work/strings.md"
has 'the strings of a page' 'The search was made at revision 0ld0ld0: ' "Best without remote access: \`$string\`"
cp "$work/out" "$work/strings.md"
make_page POLICIES_SEARCH=150 POLICIES_STRINGS="$work/strings.md"
has 'the strings of a page that has them from another one' 'The search was made at revision 0ld0ld0: ' \
	"Best without remote access: \`$string\`"
echo 'uvmsim compare' >"$work/strings.md"
if POLICIES_STRINGS=$work/strings.md sh tests/policies/policies.sh "$uvmsim" "$work" >"$work/out" 2>&1 || [ $? != 2 ]; then
	fail 'a page without a revision is taken'
else
	has 'a page without a revision' "policies: $work/strings.md does not say of which revision its strings are"
fi
exit $failed
