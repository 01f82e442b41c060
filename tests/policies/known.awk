# The complete runs of a comparison with seed 1, as starts of a search: POLICY|TIME_NS. search.sh; with -v csv=FILE rate_in=MB_S
# rate_out=MB_S, behind read.awk.
BEGIN {
	if ((getline line <csv) <= 0) exit
	n = split_csv(line, f)
	for (i = 1; i <= n; i++) column[f[i]] = i
	while ((getline line <csv) > 0) {
		split_csv(line, f)
		if (f[column["complete"]] != 1 || f[column["seed"]] != 1) continue
		printf "%s|%.0f\n", f[column["policy"]], with_link(f[column["policy"]], f[column["time_ns"]],
			f[column["h2d_bytes"]] + f[column["remote_h2d_bytes"]], f[column["d2h_bytes"]] + f[column["remote_d2h_bytes"]])
	}
}
