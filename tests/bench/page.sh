#!/bin/sh
# Writes the tables of docs/performance.md that end with `<!-- end -->`. Those that begin with `<!-- bench: UNITS -->` have the
# rows of BUILD/bench.csv whose unit matches UNITS, an extended regular expression; `<!-- scale: FILE -->`: BUILD/FILE of
# scale.sh. A table without its file stays.
# usage: page.sh BUILD [PAGE]
set -eu
csv=$1/bench.csv
page=${2:-$(dirname "$0")/../../docs/performance.md}
[ -f "$csv" ] || { echo "page.sh: $csv is missing: run make bench first" >&2; exit 2; }
awk -v csv="$csv" -v build="$1" '
	function shown(n,   s) {
		if (n == "") return ""
		if (n !~ /^[0-9]+$/) return n
		for (; length(n) > 3; n = substr(n, 1, length(n) - 3)) s = "," substr(n, length(n) - 2) s
		return n s
	}
	function table(units,   line, cell) {
		print "| name | original | budget | now | lower bound | unit | input |"
		print "|---|---|---|---|---|---|---|"
		while ((getline line < csv) > 0) {
			split(line, cell, ",")
			if (cell[7] !~ units || cell[2] == "name") continue
			while (match(cell[8], /;[a-z]/)) # a comma of a command: the CSV has none within a cell
				cell[8] = substr(cell[8], 1, RSTART - 1) "," substr(cell[8], RSTART + 1)
			sub(/(run|bound) --workload.*/, "`uvmsim &`", cell[8])
			printf "| `%s` | %s | %s | %s | %s | %s | %s |\n", cell[2], shown(cell[3]), shown(cell[4]), shown(cell[5]), shown(cell[6]), cell[7], cell[8]
		}
		close(csv)
	}
	/^<!-- bench: .* -->$/ {print; units = $0; sub(/^<!-- bench: /, "", units); sub(/ -->$/, "", units); table(units); skips = 1}
	function scale(file,   line, cell, fields, i, row) {
		while ((getline line < file) > 0) {
			fields = split(line, cell, ",")
			row = cell[1] == "policy" ? "| policy" : "| `" cell[1] "`"
			for (i = 2; i <= fields; i++) row = row " | " (cell[1] == "policy" ? cell[i] : shown(cell[i]))
			print row " | " (cell[1] == "policy" ? cell[fields] "/" cell[2] : sprintf("%.2f", cell[fields] / cell[2])) " |"
			if (cell[1] != "policy") continue
			for (row = "|---"; i > 1; i--) row = row "|---"
			print row "|"
		}
		close(file)
	}
	/^<!-- scale: .* -->$/ {
		file = build "/" $3
		print
		if ((getline line < file) > 0) {close(file); scale(file); skips = 1}
	}
	/^<!-- end -->$/ {skips = 0}
	!skips' "$page" >"$page.new"
mv "$page.new" "$page"
