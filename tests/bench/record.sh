#!/bin/sh
# Records the instructions in BUILD/bench.csv as those of this compiler in baseline.csv. A row whose figure changes, or that is
# new, gets WHY as its reason; the other rows stay. Rows of this compiler that were not counted are dropped.
# usage: record.sh BUILD WHY [BASELINE]
set -eu
csv=$1/bench.csv
why=${2:?usage: record.sh BUILD WHY [BASELINE]}
baseline=${3:-$(dirname "$0")/baseline.csv}
[ -f "$csv" ] || { echo "record.sh: $csv is missing: run make bench first" >&2; exit 2; }
case $why in *,*) echo "record.sh: the reason holds a comma: $why" >&2; exit 2 ;; esac
awk -F , -v why="$why" '
	NR == FNR {if (FNR > 1) {row[$1 "," $2] = $0; figure[$1 "," $2] = $3; reason[$1 "," $2] = $4; other[$1] = other[$1] $0 "\n"}; next}
	FNR == 1 {print "compiler,name,instructions,why"; next}
	FNR == 2 {compiler = $1}
	$7 !~ /^instructions\// {next}
	{
		key = $1 "," $2
		if (figure[key] == $5 && reason[key] != "") print row[key]
		else print key "," $5 "," why
	}
	END {for (c in other) if (c != compiler) printf "%s", other[c]}' "$baseline" "$csv" >"$baseline.new"
mv "$baseline.new" "$baseline"
