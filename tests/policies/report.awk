# The document, in Markdown.

function copy(file,    line) {
	while ((getline line <file) > 0) print line
	close(file)
}

function mib(bytes) { return sprintf("%.1f", bytes / 1048576) }
function ms(ns) { return sprintf("%.2f", ns / 1e6) }
function plain(n) { return sprintf("%d", n) }
function percent(x) { return sprintf("%.1f %%", 100 * x) }

function shown(how, x) {
	if (how == "mib") return mib(x)
	if (how == "ms") return ms(x)
	if (how == "percent") return percent(x)
	return plain(x)
}

# Median, and how far the seeds reach, if that can be seen.
function cell(w, s, p, key, how,    middle, from, to) {
	middle = shown(how, median_of(w, s, p, key))
	from = shown(how, least)
	to = shown(how, most)
	return from == to ? middle : middle " (" from ".." to ")"
}

function is_whole(w, s, p) { return ran[w, s, p] == seeds }

function above(w, s, p,    k, bound) {
	for (k = 1; k <= ran[w, s, p]; k++) {
		bound = value[w, s, p, k, "bound_h2d_bytes"]
		if (bound <= 0) return ""
		value[w, s, p, k, "above"] = value[w, s, p, k, "in_bytes"] / bound - 1
	}
	return cell(w, s, p, "above", "percent")
}

# time[w, s, p]; fastest[w, s], ties[w, s] with the same time to the nanosecond
function compare_times(w, s,    p) {
	for (p = 1; p <= preset_count; p++) {
		if (!is_whole(w, s, p)) continue
		time[w, s, p] = median_of(w, s, p, "time_ns")
		if (!fastest[w, s] || time[w, s, p] < time[w, s, fastest[w, s]]) {
			fastest[w, s] = p
			ties[w, s] = 0
		} else if (time[w, s, p] == time[w, s, fastest[w, s]])
			ties[w, s]++
	}
	for (p = 1; p <= preset_count; p++)
		if (is_whole(w, s, p) && time[w, s, p] == time[w, s, fastest[w, s]]) {
			wins[p]++
			if (!ties[w, s]) alone[p]++
		}
}

function head_row(first,    s, line, rule) {
	line = "| " first " |"
	rule = "|---|"
	for (s = 1; s <= size_count; s++) {
		line = line " " size[s] " % |"
		rule = rule "--:|"
	}
	return line "\n" rule
}

# How many times faster than the driver.
function gain(w, s, p) {
	return is_whole(w, s, base) ? sprintf(" %.2f", time[w, s, base] / time[w, s, p]) : ""
}

# A heading; in the page of several GPUs below that of the GPU.
function heading(level, text) {
	return "\n" (is_large ? "#" : "") level " " text (is_large ? " (" gpu ")" : "") "\n"
}

function link(text) { return is_large ? text : "[" text "](#" text ")" }

function best_cell(w, s, p) {
	if (policy[w, s, p] == "") return " –"
	return is_whole(w, s, p) ? gain(w, s, p) : " not run"
}

# What the search found: how many times as fast as the driver, without and with remote access, and the strings.
function print_best(    w, s, p, line, n, sum) {
	if (!has_best[best_both]) return
	print heading("##", "The best combination of keys")
	print "How many times as fast as nvidia-595 the best policy string is that a search over the keys found: without remote access /" \
		" with it. The search is a coordinate descent (tests/policies/search.sh), from the presets and from strings that are good" \
		" elsewhere: a lower bound on what the keys can gain." (seeds > 1 ? " It runs seed 1, and the table has medians of all" \
		" seeds: in programs that draw, the median of a string can be worse than that of another one." : "") \
		(strings_of != "" ? " The search was made at revision " strings_of ": its strings for all sizes, and the presets, ran" \
		" again, and the table has the fastest of these." : "") \
		" The strings are below, with each workload. The last row is the geometric mean.\n"
	print head_row("workload")
	for (w = 1; w <= workload_count; w++) {
		line = "| " link(workload[w]) " |"
		for (s = 1; s <= size_count; s++) line = line best_cell(w, s, best_both) " /" best_cell(w, s, best_remote) " |"
		print line
	}
	line = "| all |"
	for (s = 1; s <= size_count; s++) {
		for (p = best_both; p <= best_remote; p++) {
			sum = n = 0
			for (w = 1; w <= workload_count; w++)
				if (is_whole(w, s, p) && is_whole(w, s, base)) {
					sum += log(median_of(w, s, base, "time_ns") / median_of(w, s, p, "time_ns"))
					n++
				}
			line = line (p == best_remote ? " / " : " ") (n ? sprintf("%.2f", exp(sum / n)) : "–")
		}
		line = line " |"
	}
	print line
}

function print_best_strings(w, s,    p) {
	for (p = best_both; p <= best_remote; p++)
		if (policy[w, s, p] != "" && is_whole(w, s, p))
			print "\n" (p == best_both ? "Best without remote access" : "Best with remote access") ": `" best_string[w, s, p] "`"
}

# Presets named auto, with the best combination of keys of their kind: how much longer they take. bytes: that cross the link.
function print_auto(    p) {
	for (p = 1; p <= preset_count; p++)
		if (preset[p] ~ /^auto/) print_one_auto(p)
}

function bytes_of(w, s, p) { return median_of(w, s, p, "in_bytes") + median_of(w, s, p, "out_bytes") }

function print_one_auto(p,    w, s, best, line, gains, losses, n, compared, least_gain, most_loss, most_bytes, gain_of, loss, x) {
	best = best_both
	for (w = 1; w <= workload_count; w++)
		for (s = 1; s <= size_count; s++)
			if (may_stay(w, s, p)) best = best_remote
	print heading("##", preset[p])
	print "How many times as fast as nvidia-595 `" preset[p] "` is, and behind it by how much it is slower than the best" \
		" combination of keys" (best == best_remote ? " with" : " without") " remote access. *Bytes* are those that cross" \
		" the link, both ways, against nvidia-595.\n"
	print head_row("workload")
	for (w = 1; w <= workload_count; w++) {
		line = "| " link(workload[w]) " |"
		for (s = 1; s <= size_count; s++) {
			if (!is_whole(w, s, base) || !(is_whole(w, s, p) || is_cut(w, s, p))) {
				line = line " not run |"
				continue
			}
			gain_of = is_cut(w, s, p) ? 0.25 : time[w, s, base] / time[w, s, p]
			gains[s] += log(gain_of)
			n[s]++
			if (least_gain[s] == "" || gain_of < least_gain[s]) least_gain[s] = gain_of
			if (is_cut(w, s, p)) {
				line = line " <0.25 |"
				continue
			}
			x = bytes_of(w, s, p) / bytes_of(w, s, base)
			if (x > most_bytes[s]) most_bytes[s] = x
			line = line sprintf(" %.2f", gain_of)
			if (is_whole(w, s, best)) {
				loss = time[w, s, p] / time[w, s, best]
				losses[s] += log(loss)
				compared[s]++
				if (loss > most_loss[s]) most_loss[s] = loss
				line = line sprintf(" (%+.0f %%)", 100 * (loss - 1))
			}
			line = line " |"
		}
		print line
	}
	line = "| geometric mean |"
	for (s = 1; s <= size_count; s++)
		line = line (n[s] ? sprintf(" %.2f", exp(gains[s] / n[s])) : " –") \
			(compared[s] ? sprintf(" (%+.0f %%)", 100 * (exp(losses[s] / compared[s]) - 1)) : "") " |"
	print line
	line = "| worst |"
	for (s = 1; s <= size_count; s++)
		line = line (n[s] ? sprintf(" %.2f", least_gain[s]) : " –") \
			(compared[s] ? sprintf(" (%+.0f %%)", 100 * (most_loss[s] - 1)) : "") " |"
	print line
	line = "| bytes, at most |"
	for (s = 1; s <= size_count; s++) line = line (n[s] ? sprintf(" %.2f |", most_bytes[s]) : " – |")
	print line
}

function print_winners(    w, s, p, line) {
	print heading("##", "The fastest") "\nFor each workload and memory size the preset with the least time, and how many" \
		" times faster it is than nvidia-595. *+n*: so many others took the same time.\n"
	print head_row("workload")
	for (w = 1; w <= workload_count; w++) {
		line = "| " link(workload[w]) " |"
		for (s = 1; s <= size_count; s++) {
			p = fastest[w, s]
			if (!p) line = line " not run |"
			else line = line " " preset[p] (ties[w, s] ? " *+" ties[w, s] "*" : "") gain(w, s, p) " |"
		}
		print line
	}
}

# Over the workloads that nvidia-595 could run. A run that was cut counts four times as much as nvidia-595's; sets at_least.
function mean(s, p,    w, sum, n) {
	at_least = ""
	for (w = 1; w <= workload_count; w++) {
		if (!is_whole(w, s, base)) continue
		if (is_cut(w, s, p)) {
			at_least = ">"
			sum += log(4)
		} else if (is_whole(w, s, p))
			sum += log(time[w, s, p] / time[w, s, base])
		else
			return 0
		n++
	}
	return n ? exp(sum / n) : 0
}

function print_means(    s, p, m, best, line, bound) {
	print heading("##", "Each preset over all workloads") "\nTime against nvidia-595: the geometric mean over the workloads," \
		" below 1 is faster; the least of a column is bold" \
		(is_large ? ", and \">\" marks means over runs that were cut. *Wins*:" : ". *Wins*:") " in how many of the " \
		workload_count * size_count " cases it has the least time, and how often alone.\n"
	line = head_row("preset")
	sub(/\n/, " wins | alone |\n", line)
	print line "--:|--:|"
	for (s = 1; s <= size_count; s++)
		for (p = 1; p <= preset_count; p++) {
			m[s, p] = mean(s, p)
			bound[s, p] = at_least
			if (m[s, p] > 0 && (best[s] == "" || sprintf("%.2f", m[s, p]) + 0 < best[s])) best[s] = sprintf("%.2f", m[s, p]) + 0
		}
	for (p = 1; p <= preset_count; p++) {
		line = "| " preset[p] " |"
		for (s = 1; s <= size_count; s++)
			line = line " " (m[s, p] == 0 ? "–" : bound[s, p] \
				sprintf(sprintf("%.2f", m[s, p]) + 0 == best[s] ? "**%.2f**" : "%.2f", m[s, p])) " |"
		print line " " wins[p] + 0 " | " alone[p] + 0 " |"
	}
}

# For which presets the seeds make a difference, in time, bytes or faults, at any size.
function print_spread(w,    p, s, i, n, keys, count, differ, names) {
	n = split("time_ns in_bytes out_bytes far_faults refaults", keys, " ")
	for (p = 1; p <= preset_count; p++) {
		differ = 0
		for (s = 1; s <= size_count && !differ; s++)
			for (i = 1; i <= n && !differ; i++) {
				median_of(w, s, p, keys[i])
				differ = least != most
			}
		if (!differ) continue
		count++
		names = names (names == "" ? "" : ", ") preset[p]
	}
	if (seeds == 1) print "\nOne seed."
	else if (!count) print "\nThe seeds make no difference: all spreads are zero."
	else if (count == preset_count) print "\nThe seeds make a difference for every preset."
	else print "\nThe seeds make a difference for " count " of " preset_count " presets: " names ". All other spreads are zero."
}

function row_of(w, s, p) {
	return cell(w, s, p, "time_ns", "ms") " | " (is_whole(w, s, base) ? sprintf("%.2f", time[w, s, p] / time[w, s, base]) : "") \
		" | " cell(w, s, p, "in_bytes", "mib") " | " cell(w, s, p, "out_bytes", "mib") " | " above(w, s, p) " | " \
		cell(w, s, p, "far_faults") " | " cell(w, s, p, "refaults")
}

# Presets that did exactly the same share a row; the fastest stands first.
function print_size(w, s,    p, i, j, n, order, rows, names, text, key, any, cut) {
	for (p = 1; p <= preset_count; p++) {
		if (!is_whole(w, s, p)) continue
		any = p
		key = row_of(w, s, p)
		if (key in names) {
			names[key] = names[key] ", " preset[p]
			continue
		}
		names[key] = preset[p]
		rows[++n] = key
		for (i = n; i > 1 && time[w, s, order[i - 1]] > time[w, s, p]; i--) {
			order[i] = order[i - 1]
			rows[i] = rows[i - 1]
		}
		order[i] = p
		rows[i] = key
	}
	if (!any) {
		print heading("###", workload[w] " at " size[s] " %") "\nNot run."
		return
	}
	print heading("###", workload[w] " at " size[s] " %")
	printf "%s MiB managed, %s MiB of GPU memory; Belady's optimum: %s MiB in, %s MiB out.\n\n",
		mib(value[w, s, any, 1, "footprint_bytes"]), mib(value[w, s, any, 1, "memory_bytes"]),
		cell(w, s, any, "bound_h2d_bytes", "mib"), cell(w, s, any, "bound_d2h_bytes", "mib")
	print "| preset | time, ms | against nvidia-595 | MiB in | MiB out | above the optimum | far faults | refaults |"
	print "|---|--:|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i <= n; i++)
		if (!is_large || i <= 10 || order[i] == base || (", " names[rows[i]] ",") ~ ", nvidia-595,")
			print "| " (i == 1 ? "**" names[rows[i]] "**" : names[rows[i]]) " | " rows[i] " |"
	for (p = best_both; p <= best_remote; p++)
		if (policy[w, s, p] != "" && is_whole(w, s, p)) print "| *" preset[p] "* | " row_of(w, s, p) " |"
	for (p = 1; p <= preset_count; p++)
		if (is_cut(w, s, p)) cut = cut (cut == "" ? "" : ", ") preset[p]
		else if (!is_whole(w, s, p)) {
			text = error[w, s, p] != "" ? error[w, s, p] : "not run"
			sub(/^.*: /, "", text)
			print "| " preset[p] " | " ran[w, s, p] + 0 " of " seeds " runs: " text " | | | | | | |"
		}
	if (cut != "") print "\nCut at four times the time of nvidia-595: " cut "."
}

# Which program the figures are of.
function print_revisions(    i, most) {
	if (revisions == 1) {
		print "\nThe figures are of revision " revision[1] "."
		return
	}
	print "\nThe figures are of " revisions " revisions: results of earlier ones were reused, and a later one may decide" \
		" differently. A search also takes the times of earlier revisions.\n"
	print "| revision | comparisons | of |\n|---|--:|---|"
	most = 1
	for (i = 2; i <= revisions; i++) if (its_runs[i] > its_runs[most]) most = i
	for (i = 1; i <= revisions; i++)
		print "| " revision[i] " | " its_runs[i] " | " (i == most ? "all others" : its_cases[i]) " |"
}

BEGIN {
	base = number_of["nvidia-595"]
	for (w = 1; w <= workload_count; w++)
		for (s = 1; s <= size_count; s++) {
			compare_times(w, s)
			for (p = best_both; p <= best_remote; p++)
				if (is_whole(w, s, p)) time[w, s, p] = median_of(w, s, p, "time_ns")
		}
	if (is_first) copy(head)
	if (is_first) print "\n![Time of each preset against nvidia-595](" picture ")"
	if (is_large) print "\n## " gpu
	print "\n| workload | what it is | `--workload` |\n|---|---|---|"
	for (w = 1; w <= workload_count; w++) print "| " link(workload[w]) " | " about[w] " | `" spec[w] "` |"
	print_revisions()
	print_best()
	print_auto()
	print_winners()
	print_means()
	for (w = 1; w <= workload_count; w++) {
		print heading("##", workload[w]) "\n" about[w] "."
		print_spread(w)
		for (s = 1; s <= size_count; s++) {
			print_size(w, s)
			print_best_strings(w, s)
		}
	}
	print heading("##", "Commands") "\nEach for the tables of one workload and size; with `--format csv` or `json` it prints" \
		" every run.\n\n```text"
	for (i = 1; i <= command_count; i++) print "uvmsim " command[i]
	print "```"
}
