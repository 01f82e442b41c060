# From the CSV of `uvmsim compare`: a line for each policy but the first, `case|index|time of the first / time|bytes / bytes of
# the first`: all that crosses the link. The time is that of the program, but at least the time that the link needs for its
# bytes; rate_in, rate_out: MB/s. Behind read.awk.
NR == 1 {
	n = split_csv($0, name)
	for (i = 1; i <= n; i++)
		at[name[i]] = i
	next
}
{
	split_csv($0, field)
	in_bytes = field[at["h2d_bytes"]] + field[at["remote_h2d_bytes"]]
	out_bytes = field[at["d2h_bytes"]] + field[at["remote_d2h_bytes"]]
	bytes = in_bytes + out_bytes
	time = with_link(field[at["policy"]], field[at["time_ns"]], in_bytes, out_bytes)
	if (NR == 2) {
		first_time = time
		first_bytes = bytes
		next
	}
	if (field[at["error"]] ~ /cut by --until/)
		next
	if (field[at["complete"]] == "false") {
		print "ablation: " what ": " field[at["error"]] >"/dev/stderr"
		exit 1
	}
	if (field[at["time_ns"]] + 0 == 0) {
		print "ablation: " what ": no time" >"/dev/stderr"
		exit 1
	}
	printf "%s|%d|%.6f|%.6f\n", what, NR - 2, first_time / time, (first_bytes != 0 ? bytes / first_bytes : 1)
}
