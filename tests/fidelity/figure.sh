#!/bin/sh
# One figure of docs/fidelity made again: its data, compared with those of the documents, and its picture.
# usage: figure.sh UVMSIM BUILD NAME: into BUILD/fidelity. Exit status: 1 if the data differ, 2 if there is no such figure.
set -eu
uvmsim=$1 build=$2 name=$3
here=$(dirname "$0")
names=$(sed -n 's/^figure \([^ ]*\) .*/\1/p' "$here/figures.txt")
if ! echo "$names" | grep -qxF -e "$name"; then
	# shellcheck disable=SC2086 # a list of names
	echo "figure: no figure is named ${name:-so}; the nearest are:" $(sh "$here/../test.sh" --nearest "$name" $names) >&2
	exit 2
fi
sed -n "s/^figure $name | \([^|]*[^| ]\) *|.*/\1/p" "$here/figures.txt"
FIDELITY_LONG=1 FIDELITY_PICTURES="^$name\$" sh "$here/fidelity.sh" "$uvmsim" "$build" '^no row$' \
	>/dev/null 2>"$build/figure.err" || {
	cat "$build/figure.err" >&2
	exit 1
}
grep 'gnuplot' "$build/figure.err" || true
csv=$build/fidelity/$name.csv
echo "data     $csv, $(wc -l <"$csv") lines"
[ ! -f "$build/fidelity/$name.svg" ] || echo "picture  $build/fidelity/$name.svg"
if cmp -s "$csv" "docs/fidelity/$name.csv"; then
	echo "equal to docs/fidelity/$name.csv"
else
	echo "differs from docs/fidelity/$name.csv:"
	diff "docs/fidelity/$name.csv" "$csv" | head -n 10
	exit 1
fi
