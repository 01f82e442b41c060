#!/bin/sh
# Tables of docs/ that come from runs of uvmsim are those of today's library, those that take a second or two; and a figure that
# differs is noticed. tables_long.sh compares the others. usage: tables.sh BUILD [TABLE...]
set -u
. "$(dirname "$0")/support/build.sh"
shift
uvmsim=$build/uvmsim
advice='if not: make page-tables'
tables=tests/machine/tables.sh

# Every table that a page marks is one of the script, and the other way round.
marked() { grep -hoE '^ *<!-- table: [a-z_]+ -->$' docs/*.md | tr -d ' ' | sed 's/<!--table:\(.*\)-->/\1/' | sort; }
lists_all() { sh $tables --list | cut -d' ' -f1 | sort | { marked >"$work/marked"; diff - "$work/marked"; }; }
# same TABLE: the page with the rows of the runs in place of its own is the page
same() {
	page=$(sh $tables --list | sed -n "s/^$1 //p")
	cp "docs/$page" "$work/$page" && sh $tables "$uvmsim" --pages "$work" "$1" && diff "docs/$page" "$work/$page"
}
# rows TABLE WORKLOAD: the rows of this workload stand in the page
rows() {
	page=docs/$(sh $tables --list | sed -n "s/^$1 //p")
	sh $tables "$uvmsim" "$1" "$2" >"$work/rows" && [ -s "$work/rows" ] || return 1
	while read -r row; do
		grep -qE "^ *\\|" "$page" && sed 's/^ *//' "$page" | grep -qxF -- "$row" || { echo "$page lacks $row"; return 1; }
	done <"$work/rows"
}
if [ $# -gt 0 ]; then
	for table in "$@"; do check "table $table; $advice" same "$table"; done
	exit $failed
fi
check 'the tables of the pages are those of tables.sh' lists_all
check "table arrays; $advice" same arrays
check "table plans; $advice" same plans
for table in prefetchers prefetchers_further forest; do
	for workload in ra regular; do check "table $table, rows of $workload; $advice" rows $table $workload:; done
done
check "table prefetchers, rows of nw; $advice" rows prefetchers nw:

# A wrong figure, in a copy of the page, is noticed and mended.
wrong() { # EDIT
	sed "$1" docs/machine.md >"$work/machine.md" && ! cmp -s docs/machine.md "$work/machine.md" &&
		sh $tables "$uvmsim" --pages "$work" arrays && cmp docs/machine.md "$work/machine.md"
}
check 'a wrong figure and a missing row are noticed' wrong '/table: arrays/,/^$/{s/18.3125/18.3/; /512 KiB/d}'
no_mark() {
	grep -v 'table: arrays' docs/machine.md >"$work/machine.md"
	! sh $tables "$uvmsim" --pages "$work" arrays 2>"$work/out" && grep -q 'no table arrays' "$work/out"
}
check 'a page without the table is refused' no_mark
exit $failed
