# Checks a CSV file of a figure: the columns that `want` (labels, separated by tabs) says, and as many fields in every row.
# A field may be quoted. Prints the variables of plot.gp that come from the header: n, first, the labels (gnuplot itself cuts a
# quoted header at its comma) and where the bar of each published series stands beside the middle of its group.
function fields(line, field,    n, i, c, quoted, text) {
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (c == "\"")
			quoted = !quoted
		else if (c == "," && !quoted) {
			field[++n] = text; text = ""
		} else
			text = text c
	}
	field[++n] = text
	return n
}
{ n = fields($0, field) }
NR == 1 {
	columns = n
	for (i = 1; i <= n; i++)
		header[i] = field[i]
	first = n + 1
	for (i = n; i >= 3 && field[i] ~ /^published/; i--)
		first = i
	if (want != "") {
		count = split(want, label, "\t")
		for (i = 1; i <= count || i + 2 <= n; i++)
			if (field[i + 2] != label[i]) {
				printf "%s: column %d is `%s`, figures.txt has `%s`\n", FILENAME, i + 2, field[i + 2], label[i] > "/dev/stderr"
				bad = 1
			}
	}
	next
}
n != columns {
	printf "%s:%d: %d fields, the header has %d\n", FILENAME, FNR, n, columns > "/dev/stderr"
	bad = 1
}
END {
	if (bad || NR < 2)
		exit 1
	printf "n=%d; first=%d; rows=%d; array label[n + 1]; array beside[n + 1]\n", columns, first, NR - 1
	for (i = 3; i <= columns; i++) {
		printf "label[%d]=\"%s\"; beside[%d]=0.0\n", i, header[i], i
		for (j = 3; i >= first && j < first; j++)
			if (header[i] == "published: " header[j])
				printf "beside[%d]=%g\n", i, (j - 3 - (first - 4) / 2) / (first - 2)
	}
}
