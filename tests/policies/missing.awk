# Presets that a comparison does not have, or has with another policy than `uvmsim list presets` now prints, as arguments of
# `uvmsim compare`. With -v csvs='FILE...', names=FILE (presets) and list=FILE (what `list presets` prints), behind read.awk.
BEGIN {
	while ((getline line <list) > 0) {
		if (line ~ /^[a-z]/) name = line
		else if (line ~ /^    [a-z_]+=/) {
			sub(/^ +/, "", line)
			now[name] = now[name] (now[name] == "" ? "" : " ") line
		}
	}
	files = split(csvs, file, " ")
	for (c = 1; c <= files; c++) {
		if ((getline line <file[c]) <= 0) continue
		n = split_csv(line, f)
		for (i = 1; i <= n; i++) column[f[i]] = i
		while ((getline line <file[c]) > 0) {
			split_csv(line, f)
			if (f[column["policy"]] == now[f[column["preset"]]]) is_there[f[column["preset"]]]
		}
	}
	while ((getline line <names) > 0)
		if (!(line in is_there)) printf "--policy preset=%s ", line
}
