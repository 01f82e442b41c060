#!/bin/sh
# Adds policies to a copy of the repository by following docs/policies.md literally, builds and runs them, and counts the files that
# were touched: at most four each. usage: add_policy.sh [BUILD]
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
copy() { # NEW: the repository without what is built
	mkdir "$1" && tar cf - --exclude=./build --exclude=./.git . | tar xf - -C "$1"
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
	blocks "$1" docs/policies.md "$work/blocks"
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
build() { (cd "$1" && shift && MAKEFLAGS= make -s -j2 CFLAGS='-O0 -g' SAN='-O0 -g' "$@"); }

copy "$work/old"
copy "$work/new"

# -- a prefetcher ---------------------------------------------------------------------------------------------------------
check 'docs/policies.md, Adding a prefetcher: every step can be done' follow 'Adding a prefetcher' "$work/new"
check 'prefetcher: it builds' build "$work/new" WERROR=1 build/uvmsim build/san/test_prefetch_aligned build/san/test_prefetch build/san/test_policy
check 'prefetcher: make policy-tables' build "$work/new" policy-tables
for test in prefetch_aligned prefetch policy; do check "prefetcher: test_$test" "$work/new/build/san/test_$test"; done
check 'prefetcher: the tables of docs' sh "$work/new/tests/cli/policy_tables.sh" "$work/new/build/uvmsim"
counts "$work/old" "$work/new" prefetcher

run() { "$work/new/build/uvmsim" run --workload random:bytes=8M --memory 4M --policy "$1" --format json; }
run 'prefetch=aligned aligned_pages=8' >"$work/log" 2>&1
pages=$(sed -n 's/.*"pages_prefetched": *\([0-9]*\).*/\1/p' "$work/log")
if [ "${pages:-0}" -gt 0 ]; then ok "prefetch=aligned prefetches ($pages pages)"; else fail 'prefetch=aligned prefetches' "$work/log"; fi
run 'prefetch=aligned aligned_pages=513' >"$work/log" 2>&1
status=$?
if [ "$status" = 2 ] && grep -q 'aligned_pages: 513 is not accepted; 1..512' "$work/log"; then ok 'a value out of range is named'; else fail "a value out of range is named: status $status" "$work/log"; fi
run 'prefetch=tbn aligned_pages=8' >"$work/log" 2>&1
status=$?
if [ "$status" = 2 ] && grep -q 'aligned_pages: used only by prefetch=aligned' "$work/log"; then ok 'a key without use is named'; else fail "a key without use is named: status $status" "$work/log"; fi

# -- an eviction order, into the same copy --------------------------------------------------------------------------------
copy "$work/both"
check 'docs/policies.md, Adding an eviction order: every step can be done' follow 'Adding an eviction order' "$work/both"
follow 'Adding an eviction order' "$work/new" >"$work/log" 2>&1 || fail 'both sections can be followed, one after the other' "$work/log"
check 'order: it builds' build "$work/new" WERROR=1 build/uvmsim build/san/test_evict_fifo64k build/san/test_evict build/san/test_policy
check 'order: make policy-tables' build "$work/new" policy-tables
for test in evict_fifo64k evict policy; do check "order: test_$test" "$work/new/build/san/test_$test"; done
check 'order: the tables of docs' sh "$work/new/tests/cli/policy_tables.sh" "$work/new/build/uvmsim"
counts "$work/old" "$work/both" order

run 'evict=fifo64k' >"$work/log" 2>&1
evictions=$(sed -n 's/.*"evictions": *\([0-9]*\).*/\1/p' "$work/log")
if [ "${evictions:-0}" -gt 0 ]; then ok "evict=fifo64k evicts ($evictions evictions)"; else fail 'evict=fifo64k evicts' "$work/log"; fi
run 'evict=fifo64k granularity=64k' >"$work/log" 2>&1
status=$?
if [ "$status" = 2 ] && grep -q 'granularity: used only by evict=lru2m' "$work/log"; then ok 'a key that the order does not use is named'; else fail "a key that the order does not use is named: status $status" "$work/log"; fi

# -- a controller, into the same copy -------------------------------------------------------------------------------------
copy "$work/third"
check 'docs/policies.md, Adding a controller: every step can be done' follow 'Adding a controller' "$work/third"
follow 'Adding a controller' "$work/new" >"$work/log" 2>&1 || fail 'all sections can be followed, one after the other' "$work/log"
check 'controller: it builds' build "$work/new" WERROR=1 build/uvmsim build/san/test_adapt_halve build/san/test_service_adapt build/san/test_policy
check 'controller: make policy-tables' build "$work/new" policy-tables
for test in adapt_halve service_adapt policy; do check "controller: test_$test" "$work/new/build/san/test_$test"; done
check 'controller: the tables of docs' sh "$work/new/tests/cli/policy_tables.sh" "$work/new/build/uvmsim"
counts "$work/old" "$work/third" controller

limit() { "$work/new/build/uvmsim" run --workload random:bytes=8M --memory 4M --gpu titan-v --policy "$1" --log "$work/limits"; }
limit 'halve=on' >"$work/log" 2>&1
limits=$(grep -c ' limit .*count=40' "$work/limits")
if [ "${limits:-0}" -eq 1 ]; then ok 'halve=on stops 40 of 80 SMs'; else fail 'halve=on stops 40 of 80 SMs' "$work/limits"; fi
limit 'halve_percent=20' >"$work/log" 2>&1
status=$?
if [ "$status" = 2 ] && grep -q 'halve_percent: used only by halve=on' "$work/log"; then ok 'a key of a controller that is off is named'; else fail "a key of a controller that is off is named: status $status" "$work/log"; fi

# -- a value of adapt, into the same copy ---------------------------------------------------------------------------------
copy "$work/fourth"
check 'docs/policies.md, Adding a value of `adapt`: every step can be done' follow 'Adding a value of `adapt`' "$work/fourth"
follow 'Adding a value of `adapt`' "$work/new" >"$work/log" 2>&1 || fail 'all four sections can be followed, one after the other' "$work/log"
check 'adapt: it builds' build "$work/new" WERROR=1 build/uvmsim build/san/test_adapt_calm build/san/test_service_adapt build/san/test_policy
check 'adapt: make policy-tables' build "$work/new" policy-tables
for test in adapt_calm service_adapt policy; do check "adapt: test_$test" "$work/new/build/san/test_$test"; done
check 'adapt: the tables of docs' sh "$work/new/tests/cli/policy_tables.sh" "$work/new/build/uvmsim"
counts "$work/old" "$work/fourth" 'value of adapt'

prefetched() { run "$1" 2>"$work/log" | sed -n 's/.*"pages_prefetched": *\([0-9]*\).*/\1/p'; }
all=$(prefetched 'adapt=off')
calm=$(prefetched 'adapt=calm calm_threshold=100')
if [ "${calm:-0}" -gt 0 ] && [ "${calm:-0}" -lt "${all:-0}" ]; then ok "adapt=calm prefetches less ($calm of $all pages)"; else fail "adapt=calm prefetches less: ${calm:-no} of ${all:-no} pages" "$work/log"; fi
run 'adapt=early calm_threshold=80' >"$work/log" 2>&1
status=$?
if [ "$status" = 2 ] && grep -q 'calm_threshold: used only by adapt=calm' "$work/log"; then ok 'a key of another value of adapt is named'; else fail "a key of another value of adapt is named: status $status" "$work/log"; fi

exit $failed
