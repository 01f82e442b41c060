#!/bin/sh
# Two short experiments of docs/fidelity-experiments.md have the figures that their runs print; a page that differs is found.
# usage: fidelity_experiments.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"
names='gx_router blog_utlb'
page=docs/fidelity-experiments.md
sh tests/fidelity/experiments.sh "$uvmsim" gx_router blog_utlb | sort >"$work/rows"
# The rows of these experiments in PAGE are those of the runs.
same() { grep -E "^[|] (gx_router|blog_utlb) [|]" "$1" | sort | diff - "$work/rows"; }
differs() { ! same "$1"; }
restored() { sh tests/fidelity/experiments_page.sh "$uvmsim" "$work/page.md" gx_router && cmp $page "$work/page.md"; }
refused() { # the page without a table, and stays as it is
	cp "$work/page.md" "$work/before.md"
	! sh tests/fidelity/experiments_page.sh "$uvmsim" "$work/page.md" gx_router 2>"$work/err" &&
		grep -q 'no rows of gx_router' "$work/err" && cmp "$work/before.md" "$work/page.md"
}
check "$page has the figures of $names; if not: make fidelity-experiments" same $page
sed 's/^\(| gx_router .*\)6 |$/\17 |/' $page >"$work/page.md"
check 'a wrong figure is found' differs "$work/page.md"
check 'make fidelity-experiments restores the figure, and nothing else' restored
grep -v '^| gx_router' $page >"$work/page.md"
check 'a page without the table is refused' refused
exit $failed
