# The complete runs of a comparison with seed 1, as starts of a search: POLICY|TIME_NS. search.sh; with -v csv=FILE, behind read.awk.
BEGIN {
	if ((getline line <csv) <= 0) exit
	n = split_csv(line, f)
	for (i = 1; i <= n; i++) column[f[i]] = i
	while ((getline line <csv) > 0) {
		split_csv(line, f)
		if (f[column["complete"]] == 1 && f[column["seed"]] == 1) print f[column["policy"]] "|" f[column["time_ns"]]
	}
}
