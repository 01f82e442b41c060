# Reads what the comparisons printed. For the programs behind it, in order: workload[w], spec[w], kind[w], about[w],
# w = 1..workload_count; preset[p], p = 1..preset_count; size[s], s = 1..size_count. Of the run of workload w, size s, preset p,
# seed number k: value[w, s, p, k, KEY] for the columns of wanted; policy[w, s, p] the policy string; ran[w, s, p] how many seeds
# are complete, error[w, s, p] why the others are not, and is_cut(w, s, p) if they take more than four times as long as
# nvidia-595. Beyond preset_count are the best combinations of keys, p = best_both (without remote access) and best_remote, if
# has_best[p], with best_string[w, s, p] as it was found.

# Splits a CSV line, quotes and all, into field[1..]; returns how many.
function split_csv(line, field,    n, text, end) {
	n = 0
	while (line != "") {
		text = ""
		if (substr(line, 1, 1) == "\"") {
			line = substr(line, 2)
			while ((end = index(line, "\"")) > 0) {
				text = text substr(line, 1, end - 1)
				line = substr(line, end + 1)
				if (substr(line, 1, 1) != "\"") break
				text = text "\""
				line = substr(line, 2)
			}
			line = substr(line, 2)
		} else {
			end = index(line, ",")
			if (end == 0) end = length(line) + 1
			text = substr(line, 1, end - 1)
			line = substr(line, end + 1)
		}
		field[++n] = text
	}
	return n
}

# What a run did, its seed apart.
function deeds(f, n, column,    i, text) {
	for (i = 1; i <= n; i++)
		if (i != column["seed"]) text = text "," f[i]
	return text
}

# Two runs of a preset and a workload that draw nothing do the same, and so would all: they stand for the rest.
function repeat(w, s,    p, k, i) {
	for (p = 1; p <= preset_count; p++) {
		if (ran[w, s, p] != 2 || seeds < 2 || deed[w, s, p, 1] != deed[w, s, p, 2]) continue
		for (k = 3; k <= seeds; k++)
			for (i = 1; i <= wanted_count; i++) value[w, s, p, k, wanted[i]] = value[w, s, p, 1, wanted[i]]
		ran[w, s, p] = seeds
	}
}

function larger(a, b) { return a + 0 < b + 0 ? b + 0 : a + 0 }

# The time of a run: that of the program, but at least the time that the link needs for its bytes. rate_in, rate_out: MB/s.
function with_link(policy_text, time_ns, in_bytes, out_bytes,    ns) {
	if (policy_text !~ /link_ratio=100/) return time_ns + 0
	ns = larger(in_bytes * 1000 / rate_in, out_bytes * 1000 / rate_out)
	return larger(time_ns, int(ns) + (ns > int(ns)))
}

# A second file of a case replaces what the first one has of its presets.
# label: of the policy, if it is no preset.
function read_results(file, w, s, label,    line, n, i, f, column, p, k, key, seen) {
	if ((getline line <file) <= 0) return
	n = split_csv(line, f)
	for (i = 1; i <= n; i++) column[f[i]] = i
	while ((getline line <file) > 0) {
		n = split_csv(line, f)
		p = number_of[label != "" ? label : f[column["preset"]]]
		if (!seen[p]++) {
			ran[w, s, p] = 0
			error[w, s, p] = ""
		}
		if (f[column["error"]] != "") error[w, s, p] = f[column["error"]]
		if (f[column["complete"]] != 1) continue
		k = ++ran[w, s, p]
		deed[w, s, p, k] = deeds(f, n, column)
		for (i = 1; i <= wanted_count; i++)
			if (wanted[i] in column) value[w, s, p, k, wanted[i]] = f[column[wanted[i]]] + 0
		# what is used across the link has crossed it as well as what is moved
		value[w, s, p, k, "in_bytes"] = value[w, s, p, k, "h2d_bytes"] + value[w, s, p, k, "remote_h2d_bytes"]
		value[w, s, p, k, "out_bytes"] = value[w, s, p, k, "d2h_bytes"] + value[w, s, p, k, "remote_d2h_bytes"]
		value[w, s, p, k, "program_ns"] = value[w, s, p, k, "time_ns"]
		value[w, s, p, k, "end_ns"] = "link_end_ns" in column ? larger(value[w, s, p, k, "time_ns"], value[w, s, p, k, "link_end_ns"]) : 0
		value[w, s, p, k, "time_ns"] = with_link(f[column["policy"]], value[w, s, p, k, "time_ns"],
			value[w, s, p, k, "in_bytes"], value[w, s, p, k, "out_bytes"])
		policy[w, s, p] = f[column["policy"]]
	}
	close(file)
}

# Policies that leave pages in the CPU's memory, by design: they may move less than must be moved.
function may_stay(w, s, p) {
	return policy[w, s, p] ~ /remote=(adaptive|always|oversub|auto)|runtime=on|cyclic=on|counters=on/
}

function is_cut(w, s, p) { return error[w, s, p] ~ /: cut by --until:/ }

# The lower median of the complete runs, as the tables of uvmsim have it; sets least and most.
function median_of(w, s, p, key,    n, i, j, v, x) {
	n = ran[w, s, p]
	for (i = 1; i <= n; i++) {
		x = value[w, s, p, i, key] + 0
		for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]
		v[j + 1] = x
	}
	least = v[1]
	most = v[n]
	return v[int((n + 1) / 2)]
}

# revision[1..revisions]; its_runs, its_cases: how many comparisons, and of which workload and size
function note_revision(text, its_case) {
	if (!(text in revision_number)) {
		revision[++revisions] = text
		revision_number[text] = revisions
	}
	its_runs[revision_number[text]]++
	if ((text, its_case) in was_noted) return
	was_noted[text, its_case]
	its_cases[revision_number[text]] = its_cases[revision_number[text]] (its_runs[revision_number[text]] > 1 ? ", " : "") its_case
}

# Without -v presets only the functions are wanted.
BEGIN { if (presets != "") read_all() }

function read_all(    line, part, p, w, s) {
	wanted_count = split("time_ns h2d_bytes d2h_bytes far_faults refaults accesses pages_touched evictions memory_bytes " \
		"footprint_bytes bound_h2d_bytes bound_d2h_bytes remote_h2d_bytes remote_d2h_bytes link_end_ns in_bytes out_bytes " \
		"program_ns end_ns", wanted, " ")
	while ((getline line <presets) > 0) {
		preset[++preset_count] = line
		number_of[line] = preset_count
	}
	best_both = preset_count + 1
	best_remote = preset_count + 2
	preset[best_both] = "best of keys"
	preset[best_remote] = "best of keys, remote"
	for (p = best_both; p <= best_remote; p++) number_of[preset[p]] = p
	while ((getline line <workloads) > 0) {
		split(line, part, "|")
		workload[++workload_count] = part[1]
		spec[workload_count] = part[2]
		kind[workload_count] = part[3]
		about[workload_count] = part[5]
		workload_number[part[1]] = workload_count
	}
	while ((getline line <runs) > 0) {
		split(line, part, "|")
		if (!(part[3] in size_number)) {
			size[++size_count] = part[3]
			size_number[part[3]] = size_count
		}
		command[++command_count] = part[4]
		note_revision(part[6], part[2] " " part[3] " %")
		if (part[5] != "") {
			has_best[p = number_of[part[5]]] = 1
			match(part[4], /--policy "[^"]*"/)
			best_string[workload_number[part[2]], size_number[part[3]], p] = substr(part[4], RSTART + 10, RLENGTH - 11)
		}
		read_results(part[1], workload_number[part[2]], size_number[part[3]], part[5])
	}
	for (w = 1; w <= workload_count; w++)
		for (s = 1; s <= size_count; s++) repeat(w, s)
}
