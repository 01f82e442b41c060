# The tables of docs/accuracy.md. Reads rows.txt, then results.txt, then the page: prints the page with the text between
# `<!-- results -->` and `<!-- end of results -->` made again.
function kind_of(id) {
	if (unit[id] == "ordering")
		return "orderings"
	if (expression[id] ~ /_ns(_[a-z]+)?[(]|_ns_|page_ns/)
		return "times"
	return expression[id] ~ /bytes[(]|pages_(migrated|evicted|thrashed)[(]/ ? "bytes and pages" : "counts"
}
function shown(x) {
	return x == int(x) ? sprintf("%.0f", x) : x >= 100 ? sprintf("%.0f", x) : sprintf("%.3g", x)
}
function add(key, what) { total[key, what]++ }
function line_of(key,    n) {
	n = total[key, "inside"] + total[key, "misses"]
	return total[key, "inside"] + 0 " of " n " | " (n ? sprintf("%.0f %%", 100 * total[key, "inside"] / n) : "")
}
function verdict_of(name,    inside, misses) {
	inside = total["goal " name, "inside"]; misses = total["goal " name, "misses"]
	return 100 * inside >= percent_of[name] * (inside + misses) ? "met" : "**missed**"
}
# The factor that separates simulated from published, at a part of the rows of a kind.
function quantile(kind, part,    n) {
	n = factors[kind]
	return n ? sprintf("%.3g", factor_of[kind, int(part * (n - 1)) + 1]) : ""
}
function insert(kind, factor,    i) {
	for (i = ++factors[kind]; i > 1 && factor_of[kind, i - 1] > factor; i--)
		factor_of[kind, i] = factor_of[kind, i - 1]
	factor_of[kind, i] = factor
}
# UVM Smart's own simulator: which program, and how much the policy has to do; orderings compare several runs. "" elsewhere.
function case_of(id,    run, i) {
	if (of[id] !~ /its simulator/)
		return ""
	if (unit[id] == "ordering")
		return several
	run = expression[id]; sub(/^[^a-z]*[a-z_0-9]+[(]/, "", run); sub(/[)].*/, "", run)
	i = label[id] ~ /remote|runtime/ ? 3 : command[run] ~ /--memory/ ? 2 : 1
	return cases[i] programs[command[run] ~ /backprop/ ? 1 : command[run] ~ /hotspot/ ? 3 : 2]
}
function tables(    i, k) {
	print "\n" line_head
	print "\n| source | what it measured | inside | | worst miss: simulated for published | why rows miss |"
	print "|---|---|---|---|---|---|"
	for (i = 1; i <= headings; i++)
		print "| " heading[i] " | " measured[i] " | " line_of(heading[i]) " | " worst[heading[i]] " | " because[i] " |"
	print "\n| goal of this project | inside, at least | inside now | | |\n|---|---|---|---|---|"
	for (i = 1; i <= goals; i++)
		print "| " goal[i] " | " percent_of[goal[i]] " % | " line_of("goal " goal[i]) " | " verdict_of(goal[i]) " |"
	print "\n| kind of figure | tolerance | inside | | half of them are within a factor of | nine of ten within |"
	print "|---|---|---|---|---|---|"
	for (k = 1; k <= 4; k++)
		print "| " kinds[k] " | " tolerances[k] " | " line_of(kinds[k]) " | " quantile(kinds[k], 0.5) " | " quantile(kinds[k], 0.9) " |"
	print "\n| UVM Smart's simulator | program | inside | |\n|---|---|---|---|"
	for (i = 1; i <= 3; i++)
		for (k = 1; k <= 3; k++)
			if (k < 3 || i == 1)
				print "| " cases[i] " | " programs[k] " | " line_of(cases[i] programs[k]) " |"
	print "| " several " | backprop and bfs | " line_of(several) " |"
	print "\n| why a row is not counted | rows | of these were inside |\n|---|---|---|"
	print "| repeats the program, the metric and the figures of another row | " left["repeats"] + 0 " | " would["repeats"] + 0 " |"
	print "| restates a constant of the model that the figure gave | " left["input"] + 0 " | " would["input"] + 0 " |"
	print "| cannot fail | " left["certain"] + 0 " | " would["certain"] + 0 " |"
	print "| compares decisions, which are exact | " left["decision"] + 0 " | " would["decision"] + 0 " |"
	print "| its authors did not repeat the published figure | " left["source"] + 0 " | " would["source"] + 0 " |"
	print "| the policy draws victims or pages, as the original did with draws that are not known | " \
		left["random"] + 0 " | " would["random"] + 0 " |"
	print "| the published figures would have more resident than the memory holds | " \
		left["contradicts"] + 0 " | " would["contradicts"] + 0 " |"
	print "| an input that the source does not state decides the figure | " left["undisclosed"] + 0 " | " would["undisclosed"] + 0 " |"
	print "| shows a size that the row itself chose | " left["given"] + 0 " | |"
	print "\nNo result within the limit of a run: " missing + 0 " rows, counted as misses."
	print ""
}
# What the verdict of a row that is not counted would be.
function is_inside(id,    range, percent) {
	if (unit[id] == "ordering")
		return value[id] == 1
	if (split(published[id], range, /\.\./) == 2)
		return value[id] >= range[1] && value[id] <= range[2]
	percent = published[id] == 0 ? (value[id] == 0 ? 0 : 100) : 100 * (value[id] / published[id] - 1)
	return percent <= tolerance[id] && percent >= (is_thrashing(id) ? 100 * (1 / (1 + tolerance[id] / 100) - 1) : -tolerance[id])
}
# As in plan.awk: counts of runs whose memory is too small are judged by the ratio.
function is_thrashing(id,    rest, name) {
	if (unit[id] !~ /^(faults|pages|copies|transfers|groups|accesses|batches|MiB|GiB|GB)$/)
		return 0
	for (rest = expression[id]; match(rest, /\([A-Za-z0-9_-]+\)/); rest = substr(rest, RSTART + RLENGTH)) {
		name = substr(rest, RSTART + 1, RLENGTH - 2)
		if (command[name] ~ / --(memory|oversub) /)
			return 1
	}
	return 0
}
BEGIN {
	FS = " [|] "
	split("times/counts/bytes and pages/orderings", kinds, "/")
	split("data fit/more data than memory/remote access or the runtime engine", cases, "/")
	split("backprop/bfs/hotspot", programs, "/")
	several = "orderings of several runs"
	split("25 %/10 %/10 %/none/", tolerances, "/")
}
FILENAME ~ /rows/ && /^## / { name = substr($0, 4); heading[++headings] = name; next }
FILENAME ~ /rows/ && /^about / { measured[headings] = substr($1, 7); because[headings] = $2; next }
FILENAME ~ /rows/ && /^goal / {
	percent = $0; sub(/^goal +/, "", percent); sub(/ .*/, "", percent)
	goal_of[name] = $0; sub(/^goal +[0-9]+ +/, "", goal_of[name])
	if (!(goal_of[name] in percent_of))
		goal[++goals] = goal_of[name]
	percent_of[goal_of[name]] = percent
	next
}
FILENAME ~ /rows/ && /^run / { command[substr($0, 5, index(substr($0, 5), " ") - 1)] = $0; next }
FILENAME ~ /rows/ && /^row / {
	id = $1; sub(/^row +/, "", id)
	of[id] = name; label[id] = $2; published[id] = $3; unit[id] = $4; tolerance[id] = $5; expression[id] = $6
	next
}
FILENAME ~ /rows/ && /^uncounted / { split($0, word, " "); out[id] = word[2]; next }
FILENAME ~ /rows/ { next }
FILENAME ~ /results/ {
	split($0, field, "\t")
	id = field[1]; value[id] = field[2]; verdict = field[3]
	if (verdict == "uncounted" || verdict == "given") {
		left[verdict == "given" ? "given" : out[id]]++
		would[out[id]] += verdict == "uncounted" && is_inside(id)
		next
	}
	rows++
	inside += verdict == "inside"
	add(of[id], verdict)
	if (of[id] in goal_of)
		add("goal " goal_of[of[id]], verdict)
	add(kind_of(id), verdict)
	add(case_of(id), verdict)
	if (value[id] ~ /^error/)
		missing++
	else if (unit[id] != "ordering" && published[id] !~ /\.\./ && published[id] > 0) {
		factor = value[id] > published[id] ? value[id] / published[id] : value[id] > 0 ? published[id] / value[id] : 1e9
		insert(kind_of(id), factor)
		if (verdict == "misses" && factor > most[of[id]]) {
			most[of[id]] = factor
			worst[of[id]] = label[id] ": " shown(value[id]) " for " shown(published[id]) " " unit[id]
		}
	}
	line_head = sprintf("**%d of %d published figures are inside (%.0f %%).**", inside, rows, 100 * inside / rows)
	next
}
/^<!-- results -->/ { print; tables(); skipping = 1; next }
/^<!-- end of results -->/ { skipping = 0 }
!skipping { print }
