#!/bin/sh
# Two short experiments of docs/fidelity-experiments.md have the figures that their runs print; a page that differs is found.
# usage: fidelity_experiments.sh UVMSIM
set -eu
uvmsim=$1
case $uvmsim in /*) ;; *) uvmsim=$PWD/$uvmsim ;; esac
cd "$(dirname "$0")/../.."
names='gx_router blog_utlb'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
bad() {
	echo "FAILED: $1"
	[ ! -s "$work/out" ] || sed 's/^/    /' "$work/out"
	failed=1
}
# shellcheck disable=SC2086 # names
sh tests/fidelity/experiments.sh "$uvmsim" $names >"$work/rows"
# compare PAGE: its rows of these experiments with those of the runs
compare() { grep -E "^[|] ($(echo "$names" | tr ' ' '|')) [|]" "$1" | sort | diff - "$work/sorted" >"$work/out"; }
sort "$work/rows" >"$work/sorted"
page=docs/fidelity-experiments.md
if compare $page; then ok "$page has the figures of $names"; else bad "$page differs: run make fidelity-experiments"; fi
sed 's/^\(| gx_router .*\)6 |$/\17 |/' $page >"$work/page.md"
if compare "$work/page.md"; then bad 'a wrong figure passes'; else ok 'a wrong figure is found'; fi
# Splicing makes that page right again, and leaves the rest alone.
if sh tests/fidelity/experiments_page.sh "$uvmsim" "$work/page.md" gx_router && cmp -s $page "$work/page.md"; then
	ok 'make fidelity-experiments restores the figure, and nothing else'
else
	: >"$work/out"
	bad 'the page is not restored'
fi
grep -v '^| gx_router' $page >"$work/page.md"
if sh tests/fidelity/experiments_page.sh "$uvmsim" "$work/page.md" gx_router 2>"$work/err"; then
	bad 'a page without the table passes'
elif grep -q 'no rows of gx_router' "$work/err"; then
	ok 'a page without the table is found'
else
	bad 'a page without the table: another error'
fi
exit $failed
