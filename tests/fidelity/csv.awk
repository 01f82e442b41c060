# The points of figure `name` (value, figure, series, x, expression) as CSV: a row for each x, a column for each series.
$2 == name {
	if (!($3 in column)) { column[$3] = ++columns; title[columns] = $3 }
	if (!($4 in line)) { line[$4] = ++lines; x[lines] = $4 }
	cell[line[$4], column[$3]] = $1 ~ /^error|^-$/ ? "" : sprintf("%.6g", $1)
}
# 64k is 65536: what is an axis is a number.
function number(text,    unit) {
	unit = substr(text, length(text))
	return text !~ /^[0-9.]+[kmgt]$/ ? text : sprintf("%.0f", (text + 0) * 1024 ^ index("kmgt", unit))
}
# A field with a comma or a quote is quoted.
function quoted(text) {
	if (text !~ /[,"]/)
		return text
	gsub(/"/, "\"\"", text)
	return "\"" text "\""
}
END {
	printf "x,label"
	for (j = 1; j <= columns; j++)
		printf ",%s", quoted(title[j])
	print ""
	for (i = 1; i <= lines; i++) {
		printf "%s,%s", number(x[i]), x[i]
		for (j = 1; j <= columns; j++)
			printf ",%s", cell[i, j]
		print ""
	}
}
