#!/bin/sh
# What docs/engine.md says of prefetchers is what their traits and their logs say: which decide for the CPU, which decide again
# in a retry, which choose subtrees. docs/performance.md has a row of each prefetcher and of each order of eviction.
# usage: prefetchers.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
uvmsim=$build/uvmsim
prefetchers=$("$uvmsim" list policies prefetch | sed -n 's/^ *values: //p')
tr -s ' \n' '  ' <docs/engine.md >"$work/page"

# stated SENTENCE: the prefetchers in a sentence of the page, an extended regular expression
stated() {
	grep -oE "$1" "$work/page" | grep -oE '[a-z]+' | grep -xF "$(echo "$prefetchers" | tr ' ' '\n')" | sort -u >"$work/stated"
}
# have TRAIT: the prefetchers with this trait
have() {
	grep -lF ".$1 = true" libuvmpolicy/prefetch/prefetch_*.c | xargs sed -n 's/^\t\.name = "\(.*\)",/\1/p' | sort >"$work/have"
}
are_equal() { [ -s "$work/have" ] && diff "$work/stated" "$work/have"; }

stated 'For the CPU only [a-z, ]* decide\.' && have is_driver
check 'engine.md: the prefetchers that decide for the CPU' are_equal
stated 'In a retry, [a-z, ]* decide again' && have may_repeat
check 'engine.md: the prefetchers that decide again in a retry' are_equal
stated '[a-z`, ]* choose subtrees, [a-z`, ]*'
for prefetcher in $prefetchers; do
	"$uvmsim" run --workload nw:n=2048 --memory 12M --policy "prefetch=$prefetcher" --log "$work/log" >/dev/null 2>&1 || echo failed
	grep -q 'cause=prefetch.* subtrees=' "$work/log" && echo "$prefetcher"
done | sort >"$work/have"
check 'engine.md: the prefetchers that choose subtrees' are_equal

# rows TABLE: the first cells of a table of performance.md
rows() {
	awk -v mark="<!-- scale: $1 -->" '
		$0 == mark {inside = 1}
		/^<!-- end/ {inside = 0}
		inside && /^[|] `/ {print $2}' docs/performance.md
}
for prefetcher in $prefetchers; do
	rows scale-instructions.csv | grep -qxF "\`prefetch=$prefetcher\`" || echo "prefetch=$prefetcher has no row"
done >"$work/lacks"
for order in $("$uvmsim" list policies evict | sed -n 's/^ *values: //p'); do # root chunks, lru, have rows of their own
	[ "$order" = lru ] || rows orders.csv | grep -qxF "\`$order\`" || echo "evict=$order has no row"
done >>"$work/lacks"
no_lines 'performance.md: a row of each prefetcher and order' "$work/lacks"
exit $failed
