#!/bin/sh
# Adds policies to a copy of the repository by following docs/policies.md literally, builds them, runs the tests that go through the
# tables of policies, and counts the files that were touched: at most four each by hand, and generated ones.
# usage: add_policy.sh [BUILD]
#
# A block of code that begins with a comment "/* FILE" is the whole FILE; a block of changes is given to `patch`.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
mkdir -p "${1:-build}" && work=$(mktemp -d "${1:-build}/add_policy.XXXXXX") && work=$(cd "$work" && pwd) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	[ -f "${2:-}" ] && tail -n 20 "$2" | sed 's/^/     /'
}
# check WHAT COMMAND...: the command succeeds
check() {
	what=$1
	shift
	if "$@" >"$work/log" 2>&1; then ok "$what"; else fail "$what" "$work/log"; fi
}
copy() { # NEW [OLD]: the repository, or OLD, without what is built
	mkdir "$1" && tar cf - -C "${2:-.}" --exclude=./build --exclude=./.git . | tar xf - -C "$1"
}
# blocks SECTION PAGE OUT: writes the section's blocks to OUT/1.c, OUT/2.diff, ...
blocks() {
	mkdir "$3" && awk -v section="$1" -v out="$3" '
		/^###? / { is_in = substr($0, index($0, " ") + 1) == section; next }
		is_in && /^```[a-z]+$/ { name = out "/" ++n "." substr($0, 4); is_block = 1; next }
		/^```$/ { is_block = 0; next }
		is_block { print >name }
	' "$2"
}
# follow SECTION TREE: what a reader of the section does
follow() {
	rm -rf "$work/blocks"
	blocks "$1" "$work/old/docs/policies.md" "$work/blocks"
	for block in $(ls "$work/blocks" | sort -n); do
		case $block in
		*.diff) (cd "$2" && patch -s -p1 -F0 --no-backup-if-mismatch <"$work/blocks/$block") || return 1 ;;
		*)
			file=$(sed -n '1s,^/\* ,,p' "$work/blocks/$block")
			[ -n "$file" ] && cp "$work/blocks/$block" "$2/$file" || return 1
			;;
		esac
	done
}
# touched OLD NEW: files that differ
touched() { diff -rq "$1" "$2" | grep -v ': build$' | sed 's/^Files [^ ]* and \([^ ]*\) differ$/\1/; s/^Only in \(.*\): /\1\//'; }
# counts OLD NEW POLICY: at most four files
counts() {
	touched "$1" "$2" >"$work/touched"
	if [ "$(wc -l <"$work/touched")" -le 4 ] && [ -s "$work/touched" ]; then
		ok "$3: $(wc -l <"$work/touched") files:$(sed "s,^$2/, ,; s,^$1/, ," "$work/touched" | tr -d '\n')"
	else fail "$3: four files at most" "$work/touched"; fi
}
generated='adapters/python/uvmpolicy/api.json docs/policies.md docs/uvmpolicy-policy.7'
# generates OLD NEW KIND: `make generated` in NEW changes generated files only, of which the section names all
generates() {
	check "$3: make generated" build "$2" generated
	touched "$1" "$2" | sed "s,^$2/,," | sort >"$work/touched"
	if [ "$(cat "$work/touched" | tr '\n' ' ')" = "$generated " ]; then
		ok "$3: make generated writes $generated"
	else fail "$3: make generated writes $generated" "$work/touched"; fi
}
# adds KIND SECTION TEST...: follows the section in a copy of its own, where files are counted, and in $work/new after the sections
# before it; there it builds, and runs the tests
adds() {
	kind=$1 section=$2
	shift 2
	rm -rf "$work/only" "$work/before"
	copy "$work/only" "$work/old"
	check "docs/policies.md, $section: every step can be done" follow "$section" "$work/only"
	counts "$work/old" "$work/only" "$kind"
	check "$kind: the section can be followed after the others" follow "$section" "$work/new"
	copy "$work/before" "$work/new"
	check "$kind: it builds" build "$work/new" WERROR=1 build/uvmsim $(printf 'build/san/%s ' "$@")
	generates "$work/before" "$work/new" "$kind"
	for test in "$@"; do check "$kind: $test" env UVMP_TEST_SHARE=50 "$work/new/build/san/$test"; done
	check "$kind: the tables of docs" sh "$work/new/tests/cli/policy_tables.sh" "$work/new/build/uvmsim"
	check "$kind: the search of make policies" sh "$work/new/tests/policies/search.sh" "$work/new/build/uvmsim" --check
}
# refuses WHAT POLICY ERROR: exit status 2 and this text
refuses() {
	run "$2" >"$work/log" 2>&1
	status=$?
	if [ "$status" = 2 ] && grep -q "$3" "$work/log"; then ok "$1"; else fail "$1: status $status" "$work/log"; fi
}
# figure KEY POLICY: a number of the run's JSON
figure() { run "$2" 2>"$work/log" | sed -n 's/.*"'"$1"'": *\([0-9]*\).*/\1/p'; }
run() { "$work/new/build/uvmsim" run --workload random:bytes=8M --memory 4M --policy "$1" --format json; }
build() { (cd "$1" && shift && MAKEFLAGS= make -s -j2 CFLAGS='-O0 -g' SAN='-O0 -g' "$@"); }

copy "$work/old"
copy "$work/new"

adds prefetcher 'Adding a prefetcher' test_prefetch_aligned test_prefetch test_policy test_plugin test_service
pages=$(figure pages_prefetched 'prefetch=aligned aligned_pages=8')
if [ "${pages:-0}" -gt 0 ]; then
	ok "prefetch=aligned prefetches ($pages pages)"
else
	fail 'prefetch=aligned prefetches' "$work/log"
fi
refuses 'a value out of range is named' 'prefetch=aligned aligned_pages=513' 'aligned_pages: 513 is not accepted; 1..512'
refuses 'a key without use is named' 'prefetch=tbn aligned_pages=8' 'aligned_pages: used only by prefetch=aligned'

adds order 'Adding an eviction order' test_evict_fifo64k test_evict test_policy test_plugin test_service \
	prop_evict prop_evict_grow prop_evict_reference prop_evict_auto
evictions=$(figure evictions 'evict=fifo64k')
if [ "${evictions:-0}" -gt 0 ]; then
	ok "evict=fifo64k evicts ($evictions evictions)"
else
	fail 'evict=fifo64k evicts' "$work/log"
fi
refuses 'a key that the order does not use is named' 'evict=fifo64k granularity=64k' 'granularity: used only by evict=lru2m'

adds controller 'Adding a controller' test_adapt_halve test_service_adapt test_policy
"$work/new/build/uvmsim" run --workload random:bytes=8M --memory 4M --gpu titan-v --policy 'halve=on' \
	--log "$work/limits" >"$work/log" 2>&1
limits=$(grep -c ' limit .*count=40' "$work/limits")
if [ "${limits:-0}" -eq 1 ]; then ok 'halve=on stops 40 of 80 SMs'; else fail 'halve=on stops 40 of 80 SMs' "$work/limits"; fi
refuses 'a key of a controller that is off is named' 'halve_percent=20' 'halve_percent: used only by halve=on'

adds 'value of adapt' 'Adding a value of `adapt`' test_adapt_calm test_service_adapt test_policy
all=$(figure pages_prefetched 'adapt=off')
calm=$(figure pages_prefetched 'adapt=calm calm_threshold=100')
if [ "${calm:-0}" -gt 0 ] && [ "${calm:-0}" -lt "${all:-0}" ]; then
	ok "adapt=calm prefetches less ($calm of $all pages)"
else
	fail "adapt=calm prefetches less: ${calm:-no} of ${all:-no} pages" "$work/log"
fi
refuses 'a key of another value of adapt is named' 'adapt=early calm_threshold=80' 'calm_threshold: used only by adapt=calm'

exit $failed
