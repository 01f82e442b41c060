# Figures of Kim et al. on one graph, as the rows compute them, but of fewer programs (experiment kim_inputs). Reads PROGRAM RUN,
# then time, batches, time of a batch, its pages, pages that came back, pages of the largest tenth. Variables: row, what the
# line begins with; halves, the verdict of figure 16.
function mean(run, over, field,    i, sum) {
	for (i = 1; i <= programs; i++)
		sum += of[program[i], run, field] / of[program[i], over, field]
	return sum / programs
}
function three(run) { return of["bfs_dwc", run, 1] + of["bfs_twc", run, 1] + of["sssp_twc", run, 1] }
function verdict(holds) { return holds ? "yes" : "no" }
$1 != "sssp_twc" && !($1 in seen) { seen[$1]; program[++programs] = $1 } # of sssp_twc only what three() needs
{ for (i = 3; i <= NF; i++) of[$1, $2, i - 2] = $i }
END {
	for (i = 1; i <= programs; i++)
		fewer += of[program[i], "to", 5] < of[program[i], "base", 5]
	printf "%s %.0f | %.0f | %.2f | %.2f | %.2f | %.2f | %.2f |", row, 100 * (1 - mean("all", "base", 1)), \
		100 * (mean("base", "ideal", 1) - 1), mean("base", "both", 1), mean("base", "to", 1), mean("to", "both", 1), \
		mean("link", "both", 1), mean("etc", "both", 1)
	printf " %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |", of["bfs_dwc", "base", 1] / of["bfs_dwc", "ue", 1], \
		mean("to", "base", 2), mean("to", "base", 4), mean("both", "base", 3), mean("both", "to", 3), fewer / programs, \
		mean("tenth", "tenth-ue", 1), mean("base", "ue", 1)
	printf " %s | %s | %.2f | %s | %s | %s |\n", \
		verdict(mean("tenth", "tenth-ue", 1) > mean("base", "ue", 1) && mean("base", "ue", 1) > 1), \
		halves, mean("to", "base", 6), verdict(mean("all", "tenth", 1) < mean("all", "base", 1) && mean("all", "base", 1) < 1), \
		verdict(mean("base50", "both50", 1) > mean("base", "both", 1)), \
		verdict(three("ahead") > three("etc"))
}
