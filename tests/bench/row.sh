# Rows of the bench's table, for the scripts beside this file; they set `build`. Sourced, not run.
# BUILD/bench.csv holds the same rows: compiler,name,original,budget,now,lower_bound,unit,text. A missing figure is
# empty there and `-` in the table.

bench_begin() # the first script of a run empties the table
{
	echo compiler,name,original,budget,now,lower_bound,unit,text >"$build/bench.csv"
	printf '%-23s %9s %8s %9s %11s  %-23s %s\n' name original budget now lower-bound unit input
}

# row NAME ORIGINAL BUDGET NOW LOWER_BOUND UNIT TEXT: 0 or - is no figure
row()
{
	compiler=$(cc --version | head -n 1 | tr , ' ')
	echo "$compiler|$1|$2|$3|$4|$5|$6|$7" | awk -F '|' -v csv="$build/bench.csv" '
		function known(n) { return n == "-" || n == "0" ? "" : n }
		function shown(n,   s, i) {
			if (n == "") return "-"
			if (n !~ /^[0-9]+$/) return n
			for (i = length(n); i > 3; i -= 3) s = "," substr(n, i - 2, 3) s
			return substr(n, 1, i) s
		}
		{
			for (i = 3; i <= 6; i++) $i = known($i)
			printf "%-23s %9s %8s %9s %11s  %-23s %s\n", $2, shown($3), shown($4), shown($5), shown($6), $7, $8
			text = $8
			gsub(/,/, ";", text)
			print $1 "," $2 "," $3 "," $4 "," $5 "," $6 "," $7 "," text >>csv
		}'
}
