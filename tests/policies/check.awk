# Statements that must hold with any presets. One line for each that does not; exit status 1 if there is any.

function bad(w, s, p, text) {
	printf "policies: %s at %s %%, %s: %s\n", workload[w], size[s], preset[p], text | "cat >&2"
	failures++
}

# No more crosses the link than it carries until the last copy has ended; rate: MB/s. Results of earlier revisions do not say
# when that was.
function check_link(w, s, p, k, key, rate) {
	if (policy[w, s, p] ~ /link_ratio=100/ && value[w, s, p, k, "end_ns"] > 0 &&
	    value[w, s, p, k, key] * 1000 > value[w, s, p, k, "end_ns"] * rate)
		bad(w, s, p, key " " value[w, s, p, k, key] " in " value[w, s, p, k, "end_ns"] " ns, and the link has " rate " MB/s")
}

function check(w, s, p, full,    k) {
	if (scale > 1 && is_cut(w, s, p) && p != number_of["nvidia-595"]) return
	if (ran[w, s, p] != seeds) {
		bad(w, s, p, ran[w, s, p] + 0 " of " seeds " runs are complete" (error[w, s, p] != "" ? ": " error[w, s, p] : ""))
		return
	}
	for (k = 1; k <= seeds; k++) {
		checked++
		# the program is the same with every policy
		if (value[w, s, p, k, "pages_touched"] != value[w, s, 1, k, "pages_touched"])
			bad(w, s, p, "touched " value[w, s, p, k, "pages_touched"] " pages, " preset[1] " " value[w, s, 1, k, "pages_touched"])
		if (kind[w] == "fixed" && value[w, s, p, k, "accesses"] != value[w, s, 1, k, "accesses"])
			bad(w, s, p, "made " value[w, s, p, k, "accesses"] " accesses, " preset[1] " " value[w, s, 1, k, "accesses"])
		# What is touched and has contents must come in once. That is the bound with room for all; with less of it the
		# optimum is one for the order of the source, and warps that overtake each other may find a better one.
		if (size[1] == 100 && !may_stay(w, s, p) && value[w, s, p, k, "h2d_bytes"] < value[w, 1, 1, k, "bound_h2d_bytes"])
			bad(w, s, p, "moved " value[w, s, p, k, "h2d_bytes"] " bytes to the GPU, of " \
				value[w, 1, 1, k, "bound_h2d_bytes"] " that it touches")
		if (value[w, s, p, k, "program_ns"] <= 0)
			bad(w, s, p, "took no time")
		check_link(w, s, p, k, "in_bytes", rate_in)
		check_link(w, s, p, k, "out_bytes", rate_out)
		# with room for all the driver evicts nothing, and without prefetching it moves what must be moved
		if (size[s] == 100 && preset[p] ~ /^(nvidia-|on-demand$)/ && value[w, s, p, k, "refaults"] + value[w, s, p, k, "evictions"] > 0)
			bad(w, s, p, "evicted although all fits")
		if (size[s] == 100 && preset[p] == "on-demand" && value[w, s, p, k, "h2d_bytes"] != value[w, s, p, k, "bound_h2d_bytes"])
			bad(w, s, p, "moved " value[w, s, p, k, "h2d_bytes"] " bytes to the GPU; without prefetching it is the bound, " \
				value[w, s, p, k, "bound_h2d_bytes"])
	}
}

# The best combination of keys is as fast as every preset of its kind, with the seed of the search.
function check_best(w, s, best,    p) {
	check(w, s, best)
	for (p = 1; p <= preset_count; p++) {
		if (!ran[w, s, p] || !(preset[p] in eligible_kind)) continue
		if (best == best_both && eligible_kind[preset[p]] != "both") continue
		if (value[w, s, best, 1, "time_ns"] > value[w, s, p, 1, "time_ns"])
			bad(w, s, best, value[w, s, best, 1, "time_ns"] " ns, and " preset[p] " " value[w, s, p, 1, "time_ns"] " ns")
	}
}

BEGIN {
	while ((getline line <eligible) > 0) {
		split(line, part, "|")
		eligible_kind[part[1]] = part[3]
	}
	for (w = 1; w <= workload_count; w++)
		for (s = 1; s <= size_count; s++)
			for (p = 1; p <= preset_count; p++)
				check(w, s, p)
	for (w = 1; w <= workload_count; w++)
		for (s = 1; s <= size_count; s++)
			for (p = best_both; p <= best_remote; p++)
				if (policy[w, s, p] != "") check_best(w, s, p)
	printf "policies: %d workloads, %d sizes, %d presets: %d runs checked, %d statements do not hold\n", workload_count,
		size_count, preset_count, checked, failures
	exit failures > 0
}
