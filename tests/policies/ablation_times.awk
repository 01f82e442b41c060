# From the CSV of `uvmsim compare`: a line for each policy but the first, `case|index|time of the first / time|bytes / bytes of
# the first`: all that crosses the link. The time is that of the program, but at least the time that the link needs for its
# bytes; rate_in, rate_out: MB/s. Fields with commas are quoted; the columns that are read follow none of these.
function split_line(line, field,   n, i, c, quoted)
{
	n = 1
	field[1] = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (c == "\"")
			quoted = !quoted
		else if (c == "," && !quoted)
			field[++n] = ""
		else
			field[n] = field[n] c
	}
	return n
}
NR == 1 {
	n = split_line($0, name)
	for (i = 1; i <= n; i++)
		at[name[i]] = i
	next
}
{
	split_line($0, value)
	time = value[at["time_ns"]] + 0
	in_bytes = value[at["h2d_bytes"]] + value[at["remote_h2d_bytes"]]
	out_bytes = value[at["d2h_bytes"]] + value[at["remote_d2h_bytes"]]
	bytes = in_bytes + out_bytes
	if (time < in_bytes * 1000 / rate_in)
		time = in_bytes * 1000 / rate_in
	if (time < out_bytes * 1000 / rate_out)
		time = out_bytes * 1000 / rate_out
	if (NR == 2) {
		first_time = time
		first_bytes = bytes
		next
	}
	if (value[at["error"]] ~ /cut by --until/)
		next
	if (value[at["complete"]] == "false") {
		print "ablation: " what ": " value[at["error"]] >"/dev/stderr"
		exit 1
	}
	if (time == 0) {
		print "ablation: " what ": no time" >"/dev/stderr"
		exit 1
	}
	printf "%s|%d|%.6f|%.6f\n", what, NR - 2, first_time / time, (first_bytes != 0 ? bytes / first_bytes : 1)
}
