# `KIND|POLICY` on standard input, in the order of the policies that ran; `results`, the lines of ablation_times.awk: a table of
# how many times as fast as nvidia-595 auto and the best string of each kind are, and by how much auto is slower than the best
# string.
function add(column, ratio) {
	sum[column] += log(ratio)
	cases[column]++
	if (!(column in worst) || ratio < worst[column])
		worst[column] = ratio
}

# Behind a speed-up: by how much slower it is than another one.
function cell(speed, best) {
	return sprintf("%.2f (%+.0f %%)", speed, (best / speed - 1) * 100)
}

# A string that was cut takes more than twice as long as nvidia-595.
function best_of(name, kinds,   i, best) {
	best = 0.5
	for (i = 1; i < policies; i++)
		if (index(kinds, kind[i]) && (name, i) in ratio && ratio[name, i] > best)
			best = ratio[name, i]
	return best
}

{ kind[policies++] = $1 }

END {
	while ((getline line < results) > 0) {
		split(line, f, "|")
		if (!(f[1] in known)) {
			known[f[1]] = 1
			name[++names] = f[1]
		}
		ratio[f[1], f[2]] = f[3]
	}
	if (names == 0) {
		print "strings: no results" >"/dev/stderr"
		exit 1
	}
	print "| case | `auto` without remote access | faults only | with touches | `auto` | best |"
	print "|---|--:|--:|--:|--:|--:|"
	for (n = 1; n <= names; n++) {
		auto = ratio[name[n], 1]
		off = ratio[name[n], 2]
		if (auto == 0 || off == 0) {
			print "strings: " name[n] ": preset=auto takes twice as long as nvidia-595" >"/dev/stderr"
			exit 1
		}
		faults = best_of(name[n], "faults")
		touches = best_of(name[n], "faults touches")
		remote = best_of(name[n], "faults touches remote")
		printf "| `%s` | %s | %.2f | %.2f | %s | %.2f |\n", name[n], cell(off, touches), faults, touches, cell(auto, remote), remote
		add("off", off)
		add("faults", faults)
		add("touches", touches)
		add("auto", auto)
		add("remote", remote)
	}
	n = cases["off"]
	off = exp(sum["off"] / n)
	auto = exp(sum["auto"] / n)
	printf "| geometric mean of %d | %s | %.2f | %.2f | %s | %.2f |\n", n, cell(off, exp(sum["touches"] / n)), \
		exp(sum["faults"] / n), exp(sum["touches"] / n), cell(auto, exp(sum["remote"] / n)), exp(sum["remote"] / n)
	printf "| least | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
		worst["off"], worst["faults"], worst["touches"], worst["auto"], worst["remote"]
}
