#!/bin/sh
# Runs experiments again and puts their rows into the tables of the page; everything else of the page stays.
# usage: experiments_page.sh UVMSIM PAGE [NAME ...]  PAGE: docs/fidelity-experiments.md or a copy; without NAME all experiments.
# Exit status: 1 if a run fails, or if the page has no table for an experiment; the page is then as before.
set -eu
[ $# -ge 2 ] || {
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
}
here=$(dirname "$0")
uvmsim=$1 page=$2
shift 2
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
sh "$here/experiments.sh" "$uvmsim" "$@" >"$made/rows"
awk -F ' [|] |^[|] ' -v rows="$made/rows" '
	FILENAME == rows { all[$2] = all[$2] $0 "\n"; next }
	/^[|] [a-z]+_[a-z]+ [|]/ && $2 in all {
		if (!($2 in done)) printf "%s", all[$2]
		done[$2] = 1
		next
	}
	{ print }
	END {
		for (name in all)
			if (!(name in done)) { print "experiments_page.sh: no rows of " name " in the page" >"/dev/stderr"; bad = 1 }
		exit bad
	}' "$made/rows" "$page" >"$made/page"
cat "$made/page" >"$page"
