#!/bin/sh
# What is derived from the library's table of keys and presets: the two tables of docs/policies.md, and the dictionary of
# fuzz/fuzz_policy.c. usage: tables.sh UVMSIM FILE.md (rewrites the tables in FILE.md) | tables.sh UVMSIM dict (prints it)
set -eu
export LC_ALL=C
uvmsim=$1 page=$2
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$uvmsim" list policies >"$work/keys"
"$uvmsim" list presets >"$work/presets"
if [ "$page" = dict ]; then
	awk -v dict=1 -f "$here/../cli/policies.awk" "$work/keys" "$work/presets"
	exit
fi
awk -f "$here/../cli/policies.awk" "$work/keys" "$work/presets" >"$work/rows"
# Rows of a table stand behind its head, "| key |" or "| preset |", and the line of dashes.
awk -v presets="$(grep -c '^[a-z]' "$work/presets")" '
	NR == FNR { row[++rows] = $0; next }
	/^\| (key|preset) \|/ {
		is_head = 1
		first = $2 == "key" ? 1 : rows - presets + 1
		last = $2 == "key" ? rows - presets : rows
		tables++
	}
	is_head && /^\|---/ {
		print
		for (i = first; i <= last; i++) print row[i]
		is_head = 0
		is_old = 1
		next
	}
	is_old && /^\|/ { next }
	{ is_old = 0; print }
	END { if (tables != 2) { print "tables.sh: " tables + 0 " tables of keys and presets, not 2" >"/dev/stderr"; exit 1 } }
' "$work/rows" "$page" >"$work/new"
cat "$work/new" >"$page"
