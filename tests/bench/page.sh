#!/bin/sh
# Writes the tables of docs/performance.md. A table is between a line that names its rows and `<!-- end -->`; a table without
# measured rows stays as it is.
#   <!-- bench: UNITS -->     the rows of BUILD/bench.csv whose unit matches UNITS, an extended regular expression. Column `before`
#                             is from before.csv, which the same bench measured at commit b1c5ac4
#   <!-- scale: FILE -->      BUILD/FILE, of scale.sh or orders.sh
#   <!-- pager: SECTION -->   the rows of BUILD/pager.csv, of pager.sh, whose section matches SECTION; below those of latency and
#                             scan, which rows of the pager reach the goal
# usage: page.sh BUILD [PAGE]
set -eu
csv=$1/bench.csv
page=${2:-$(dirname "$0")/../../docs/performance.md}
[ -f "$csv" ] || { echo "page.sh: $csv is missing: run make bench first" >&2; exit 2; }
awk -v csv="$csv" -v build="$1" -v former="$(dirname "$0")/before.csv" '
	function shown(n,   s) {
		if (n == "") return ""
		if (n !~ /^[0-9]+$/) return n
		for (; length(n) > 3; n = substr(n, 1, length(n) - 3)) s = "," substr(n, length(n) - 2) s
		return n s
	}
	function line_under(fields,   s) {
		for (s = "|"; fields > 0; fields--) s = s "---|"
		return s
	}
	function bench(units,   line, cell, rows) {
		while ((getline line < csv) > 0) {
			split(line, cell, ",")
			if (cell[7] !~ units || cell[2] == "name") continue
			if (rows++ == 0) print "| name | original | before | now | budget | lower bound | unit | input |\n" line_under(8)
			while (match(cell[8], /;[a-z]/)) # a comma of a command: the CSV has none within a cell
				cell[8] = substr(cell[8], 1, RSTART - 1) "," substr(cell[8], RSTART + 1)
			sub(/(run|bound) --workload.*/, "`uvmsim &`", cell[8])
			printf "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", cell[2], shown(cell[3]), shown(before[cell[2] "," cell[7]]),
				shown(cell[5]), shown(cell[4]), shown(cell[6]), cell[7], cell[8]
		}
		close(csv)
		return rows > 0
	}
	function scale(file,   line, cell, fields, i, row, rows, first) {
		for (; (getline line < file) > 0; rows++) {
			fields = split(line, cell, ",")
			if (rows == 0) for (first = 1; first < fields && cell[first] !~ /^[0-9]+[mg]$/;) first++ # the least footprint
			row = rows == 0 ? "| " cell[1] : "| `" cell[1] "`"
			for (i = 2; i <= fields; i++) row = row " | " shown(cell[i])
			print row " | " (rows == 0 ? cell[fields] "/" cell[first] : sprintf("%.2f", cell[fields] / cell[first])) " |"
			if (rows == 0) print line_under(fields + 1)
		}
		close(file)
		return rows > 0
	}
	# Ratios of medians: of latency at most 1.5, of scan at least 0.8.
	function reaches(section, ratio) {
		return section == "latency" ? ratio <= 1.5 : ratio >= 0.8
	}
	function pager(section,   line, cell, what, last, rows, judged, reached, missed) {
		while ((getline line < (build "/pager.csv")) > 0) {
			split(line, cell, ",")
			if (cell[1] !~ section || cell[1] == "section") continue
			if (rows++ == 0) print "| what | system | min | median | max | ratio of medians |\n" line_under(6)
			what = (cell[1] ~ /write/ ? "read and written, " : cell[1] ~ /read/ ? "read, " : "") cell[2]
			printf "| %s | %s | %.2f | %.2f | %.2f | %.2f |\n", what == last ? "" : what, cell[3], cell[5], cell[6], cell[7], cell[8]
			last = what
			if (cell[1] !~ /^(latency|scan)$/ || cell[3] !~ /^pager/) continue
			judged++
			if (reaches(cell[1], cell[8])) reached++
			else missed = missed sprintf("| %s | %s | %.2f |\n", what, cell[3], cell[8])
		}
		close(build "/pager.csv")
		if (judged) printf "\nOf %d rows of the pager, %d reach the goal", judged, reached
		if (missed) printf "; these miss it:\n\n| what | system | ratio of medians |\n|---|---|---|\n%s", missed
		else if (judged) print "."
		return rows > 0
	}
	BEGIN {
		while ((getline line < former) > 0) {
			split(line, cell, ",")
			before[cell[1] "," cell[2]] = cell[3]
		}
	}
	/^<!-- end -->$/ {skips = 0}
	!skips {print}
	/^<!-- bench: .* -->$/ {skips = bench($3)}
	/^<!-- scale: .* -->$/ {skips = scale(build "/" $3)}
	/^<!-- pager: .* -->$/ {skips = pager($3)}' "$page" >"$page.new"
mv "$page.new" "$page"
