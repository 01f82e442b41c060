# Prints the CSV of `uvmsim compare` as one table per workload and memory size, at most 80 columns wide.
# usage: awk [-v time=1] -f run_table.awk CSV
# Quoted fields hold commas: a comma inside quotes becomes a semicolon before the line is split.
function unquote(line, out) {
	while (match(line, /"[^"]*"/)) {
		field = substr(line, RSTART + 1, RLENGTH - 2)
		gsub(/,/, ";", field)
		out = out substr(line, 1, RSTART - 1) field
		line = substr(line, RSTART + RLENGTH)
	}
	return out line
}

{ $0 = unquote($0); n = split($0, f, ",") }
NR == 1 {
	for (i = 1; i <= n; i++)
		at[f[i]] = i
	next
}
{
	run = f[at["workload"]] " " f[at["memory_bytes"]]
	if (run != last) {
		name = f[at["workload"]]
		sub(/:.*/, "", name)
		sub(/.*\//, "", name)
		printf "%s   %s: %.1f MiB on a GPU with %.1f MiB\n", last == "" ? "" : "\n", name,
			f[at["footprint_bytes"]] / 1048576, f[at["memory_bytes"]] / 1048576
		printf "   %-22s %8s %8s %8s %8s %8s %8s\n",
			"prefetch=", "faults", "refaults", "MiB in", "MiB out", "unused", time ? "time ms" : "batches"
		last = run
	}
	policy = f[at["policy"]]
	label = ""
	for (i = split("prefetch threshold evict", key, " "); i > 0; i--)
		if (match(policy, "(^| )" key[i] "=[^ ]*")) {
			word = substr(policy, RSTART, RLENGTH)
			sub(/^ /, "", word)
			if (key[i] == "prefetch" || (key[i] == "threshold" && word != "threshold=51") || (key[i] == "evict" && word != "evict=lru"))
				label = word (label == "" ? "" : " " label)
		}
	if (f[at["preset"]] != "" && f[at["preset"]] != "nvidia-595")
		label = f[at["preset"]]
	sub(/^prefetch=/, "", label)
	printf "   %-22s %8d %8d %8.1f %8.1f %8d ", label, f[at["far_faults"]], f[at["refaults"]],
		f[at["h2d_bytes"]] / 1048576, f[at["d2h_bytes"]] / 1048576, f[at["pages_prefetched_unused"]]
	if (time)
		printf "%8.1f\n", f[at["time_ns"]] / 1000000
	else
		printf "%8d\n", f[at["batches"]]
}
