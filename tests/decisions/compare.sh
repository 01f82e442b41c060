#!/bin/sh
# Compares two folders of decision logs, as record.sh makes them: every log of BEFORE must be in AFTER, with the same lines. FILTER
# (a sed script, may be absent) is applied to both first: what a change has added on purpose is taken out with it.
# usage: compare.sh BEFORE AFTER [FILTER]
set -u
[ $# -ge 2 ] || { echo 'usage: compare.sh BEFORE AFTER [FILTER]' >&2; exit 2; }
before=$1 after=$2 filter=${3:-}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
: >"$tmp/filter"
[ -z "$filter" ] || cat "$filter" >"$tmp/filter"
count=0 different=0
for log in "$before"/*.log; do
	[ -e "$log" ] || { echo "no log in $before" >&2; exit 2; }
	count=$((count + 1))
	name=${log##*/}
	if [ ! -e "$after/$name" ]; then
		echo "FAIL $name: missing in $after"
		different=$((different + 1))
		continue
	fi
	cmp -s "$log" "$after/$name" && continue
	sed -E -f "$tmp/filter" "$log" >"$tmp/a"
	sed -E -f "$tmp/filter" "$after/$name" >"$tmp/b"
	cmp -s "$tmp/a" "$tmp/b" && continue
	different=$((different + 1))
	echo "FAIL $name: $(wc -l <"$tmp/a") and $(wc -l <"$tmp/b") lines; the first that differ:"
	diff "$tmp/a" "$tmp/b" | grep '^[<>]' | head -n 2
done
echo "decision logs: $((count - different)) of $count equal"
[ $different -eq 0 ]
