# Finds rows that must not be counted: repeats of another row, and rows that cannot fail. Reads rows.txt, then results.txt.
# Variable: models, the folder of the models. Prints one line per finding; exit status 1 if there is one.
#
# A row may say why it leaves the count (`uncounted KIND TEXT`) or why it can fail although a rule below suspects it
# (`can-fail TEXT`). Rules, for rows that are counted:
#   repeat      the program, the metric, the published and the simulated figure are those of an earlier row; or the run and
#               both figures are, under the name of another count
#   exact       one figure without tolerance: the run restates its input
#   nothing     a published 0: a run in which the mechanism does nothing meets it
#   tie         an ordering or a count of orderings with `<=` or `>=`: equality meets it
#   range       a range that no outcome can leave, or of more than two orders of magnitude
#   share       a percentage above 50: the rest is what differs, so the rest is judged
#   tolerance   wider than 10 % (counts, bytes) or 25 % (times)
#   input       the published figure stands in a model that the run uses
#   contradicts the published pages (or MiB) that came, less those that left, are more than the memory of the run, although
#               no synchronisation of the model frees memory that is in use (sync_frees)
function finding(id, text) {
	print "fidelity: row " id ": " text
	found = 1
}
function program_of(command) {
	if (!match(command, /--(workload|trace) [^ ]+/))
		return command
	return substr(command, RSTART, RLENGTH)
}
# The text of a model with what it includes.
function model_text(name,    file, line, part, text) {
	if (name in texts)
		return texts[name]
	if (name == "")
		return ""
	file = name ~ /\// ? name : models "/" name
	while ((getline line < file) > 0) {
		text = text line "\n"
		if (split(line, part, " ") >= 3 && part[1] == "link")
			text = text model_text(part[3] ".link")
		else if (part[1] == "include")
			text = text model_text(part[3] ".host")
	}
	close(file)
	texts[name] = text
	return text
}
function gpu_of(command,    name) {
	if (!match(command, /--gpu [^ ]+/))
		return ""
	name = substr(command, RSTART + 6, RLENGTH - 6)
	sub(/:.*/, "", name)
	return name ~ /\// ? name : name ".gpu"
}
# 1 if the number stands in the text by itself; with a decimal point or four digits, so that small numbers do not collide.
function mentions(text, number,    digits) {
	digits = number
	gsub(/[^0-9]/, "", digits)
	if (length(digits) < (number ~ /\./ ? 3 : 4))
		return 0
	gsub(/\./, "[.]", number)
	return text ~ ("(^|[^0-9.])" number "([^0-9.]|[.][^0-9]|$)")
}
# The expression with the program, or the command, of each run in the place of its name; the runs in `run_names`.
function signature(expression, whole,    out, name, rest) {
	out = run_names = ""
	while (match(expression, /\([$A-Za-z0-9_-]+\)/)) {
		name = substr(expression, RSTART + 1, RLENGTH - 2)
		rest = substr(expression, RSTART + RLENGTH - 1)
		out = out substr(expression, 1, RSTART)
		if (name in command) {
			out = out (whole ? command[name] : program_of(command[name]))
			if (index(run_names " ", " " name " ") == 0)
				run_names = run_names " " name
		} else
			out = out name
		expression = rest
	}
	return out expression
}
# The run's memory in bytes; 0: not given.
function memory_of(command,    bytes) {
	if (!match(command, /--memory [0-9]+[kKmMgG]?/))
		return 0
	bytes = substr(command, RSTART + 9, RLENGTH - 9)
	return bytes ~ /[0-9]$/ ? bytes + 0 : (bytes + 0) * 1024 ^ index("kmg", tolower(substr(bytes, length(bytes))))
}
# Published bytes to the GPU (way "in") or from it of each run, in came[] and went[].
function note_bytes(id,    key, run, bytes) {
	key = run = expression[id]
	sub(/\(.*/, "", key)
	if (!match(run, /\([A-Za-z0-9_-]+\)/) || published[id] !~ /^[0-9.]+$/)
		return
	run = substr(run, RSTART + 1, RLENGTH - 2)
	bytes = published[id] * (unit[id] == "pages" ? 4096 : unit[id] == "MiB" ? 1048576 : 0)
	if (key ~ /^(pages_migrated|h2d_bytes)$/)
		came[run] = bytes
	if (key ~ /^(pages_evicted|d2h_bytes)$/)
		went[run] = bytes
}
function contradicts(run,    memory) {
	memory = memory_of(command[run])
	return memory > 0 && came[run] > 0 && (run in went) && came[run] - went[run] > memory && \
	       model_text(gpu_of(command[run])) !~ /\nsync_frees = 1/
}
function most_of(unit) { return unit ~ /^%/ ? 100 : unit == "of them" ? 1 : 1e300 }

# Of the runs in run_names: does UVM Smart's policy draw? Do their published figures contradict?
function is_random(    used, count, i) {
	count = split(run_names, used, " ")
	for (i = 1; i <= count; i++)
		if (gpu_of(command[used[i]]) == "uvmsmart.gpu" && command[used[i]] ~ /--policy [^ ]*random/)
			return 1
	return 0
}
function is_contradicted(    used, count, i) {
	count = split(run_names, used, " ")
	for (i = 1; i <= count; i++)
		if (contradicts(used[i]))
			return 1
	return 0
}
# The row's published figure is that of one row over that of another, within its rounding.
function is_quotient(id, over, under,    ratio) {
	if (published[under] + 0 == 0)
		return 0
	ratio = published[over] / published[under] * (unit[id] ~ /^%/ ? 100 : 1) / published[id]
	return ratio > 0.99 && ratio < 1.01
}
BEGIN { FS = " [|] " }
FILENAME ~ /results/ {
	split($0, field, "\t")
	value[field[1]] = field[2]
	verdict[field[1]] = field[3]
	next
}
/^list / {
	members = split(substr($0, 6), member, " ")
	for (i = 1; i <= members; i++) {
		workload[i] = member[i]; sub(/^[^=]*=/, "", workload[i])
		sub(/=.*/, "", member[i])
	}
	next
}
/^(run|long) / {
	line = $0; sub(/^[a-z]+ /, "", line)
	name = text = line; sub(/ .*/, "", name); sub(/^[^ ]* /, "", text)
	command[name] = text
	if (index(name, "$p"))
		for (i = 1; i <= members; i++) {
			one = name; gsub(/\$p/, member[i], one)
			command[one] = text; gsub(/\$w/, workload[i], command[one])
		}
	next
}
/^row / {
	id = $1; sub(/^row +/, "", id)
	order[++rows] = id
	label[id] = $2; published[id] = $3; unit[id] = $4; tolerance[id] = $5; expression[id] = $6
	next
}
/^uncounted / { uncounted[id] = substr($0, 11); next }
/^can-fail / { can_fail[id] = substr($0, 10); next }

END {
	for (r = 1; r <= rows; r++)
		note_bytes(order[r])
	for (r = 1; r <= rows; r++) {
		id = order[r]
		if (!(id in value)) {
			finding(id, "not in results.txt: run `make fidelity`")
			continue
		}
		is_ordering = unit[id] == "ordering"
		is_range = split(published[id], range, /\.\./) == 2
		# Repeats. A row that is not counted anyway (a size that it chose) repeats nothing.
		of = ""
		by_program = signature(expression[id], is_ordering) "|" published[id] "|" unit[id] "|" tolerance[id] "|" value[id]
		is_count = unit[id] ~ /^(faults|pages|copies|transfers|groups)$/
		by_run = run_names "|" published[id] "|" value[id]
		if (tolerance[id] != "-" && value[id] !~ /^error/) {
			if (by_program in first)
				of = first[by_program]
			else if (is_count && by_run in first_of_run)
				of = first_of_run[by_run]
			else {
				first[by_program] = id
				if (is_count)
					first_of_run[by_run] = id
			}
		}
		if (id in uncounted) {
			split(uncounted[id], word, " ")
			if (verdict[id] != "uncounted")
				finding(id, "results.txt counts it: run `make fidelity`")
			if (word[1] == "repeats" && word[2] != of)
				finding(id, "does not repeat " word[2] (of != "" ? " but " of : "") ", so it counts")
			else if (word[1] == "input" && model_text(word[2]) !~ ("\n" word[3] " = "))
				finding(id, "model " word[2] " has no " word[3] " of its own")
			else if (word[1] == "random" && !is_random())
				finding(id, "no run of it draws, so it counts")
			else if (word[1] == "contradicts" && !is_contradicted())
				finding(id, "its published figures fit the memory, so it counts")
			else if (word[1] == "quotient" && !is_quotient(id, word[2], word[3]))
				finding(id, "is not " word[2] " over " word[3] ", so it counts")
			else if (word[1] !~ /^(repeats|input|decision|certain|source|random|contradicts|undisclosed|quotient)$/)
				finding(id, "`uncounted` is followed by repeats, input, decision, certain, source, random, contradicts, " \
					"undisclosed or quotient")
			continue
		}
		if (of != "")
			finding(id, "repeats " of)
		if (tolerance[id] == "-")
			continue
		if (is_random())
			finding(id, "a run of it draws")
		if (is_contradicted())
			finding(id, "its published figures contradict: more came than left and memory holds")
		if (verdict[id] == "uncounted")
			finding(id, "results.txt does not count it: run `make fidelity`")
		if (tolerance[id] > 25 || tolerance[id] > 10 && unit[id] ~ /^(faults|pages|copies|transfers|groups|MiB|GiB|KiB|GB)$/)
			finding(id, "tolerance " tolerance[id] " % is too wide")
		if (id in can_fail)
			continue
		if (is_range) {
			if (range[1] <= 0 && range[2] >= most_of(unit[id]) || range[1] > 0 && range[2] > 100 * range[1])
				finding(id, "every outcome is in the range " published[id])
		} else if (!is_ordering) {
			if (published[id] == 0)
				finding(id, "a run in which nothing happens meets a published 0")
			else if (tolerance[id] == 0)
				finding(id, "an exact figure restates the input of the run")
			if (unit[id] == "%" && published[id] > 50)
				finding(id, "a share above half: judge its complement to 100 %")
		}
		if (expression[id] ~ /[<>]=[a-z]/)
			finding(id, "equality meets the ordering")
		count = split(run_names, used, " ")
		for (i = 1; i <= count; i++) {
			text = model_text(gpu_of(command[used[i]]))
			if (is_range ? text ~ (range[1] " to " range[2]) : mentions(text, published[id])) {
				finding(id, "the model " gpu_of(command[used[i]]) " contains the published " published[id])
				break
			}
		}
	}
	exit found
}
