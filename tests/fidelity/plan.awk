# Reads rows.txt and figures.txt and says what has to be run and what has to be computed. reasons.awk stands before
# it and has fail(). Variables: work (folder for the lists), pattern, pictures (which rows and figures), long (whether long runs
# are run).
#   runs         NUMBER, command; every command once
#   names        NAME, command: the named runs of the rows wanted
#   rows         id, heading, label, published, unit, tolerance, expression with numbers, why, 0 or how long
#                runs matter (see resolved), expression with names, why the row does not count, 1 if it is a count of a run
#                with too little memory
#   points       figure, series, x, expression with numbers (or a literal)
#   figures      name, title, x label, y label, style, scales, heading, kept
#   text         heading, paragraph
function number_of(command) {
	if (!(command in number)) {
		number[command] = ++runs
		print runs "\t" command > (work "/runs")
	}
	return number[command]
}
# `$p` and `$w` of the list's i-th entry.
function written(text, i) {
	gsub(/\$p/, member[i], text)
	gsub(/\$w/, workload[i], text)
	return text
}
# A run, or one for each of the list if its name has `$p`; x: of the figure, `@` before it.
function define(rest, x, is_for_long,    name, i, one) {
	name = rest; sub(/ .*/, "", name)
	for (i = 1; i <= (index(name, "$p") ? members : 1); i++) {
		one = written(name, i) x
		if (x == "" && one in command)
			fail("run " one " twice")
		command[one] = written(substr(rest, length(name) + 2), i)
		if (is_for_long)
			is_long[one] = 1
		if (x == "")
			order[++names] = one
	}
}
# mean{EXPRESSION with `$p`} written out over the list.
function expanded(expression,    start, length_of, inner, sum, i) {
	while (start = match(expression, /mean[{][^{}]*[}]/)) {
		length_of = RLENGTH
		inner = substr(expression, start + 5, length_of - 6)
		sum = ""
		for (i = 1; i <= members; i++)
			sum = sum (i > 1 ? "+" : "") "(" written(inner, i) ")"
		expression = substr(expression, 1, start - 1) "((" sum ")/" members ")" substr(expression, start + length_of)
	}
	return expression
}
# The expression with `KEY(NAME)` turned into `KEY(#NUMBER)`; `kept` is 1 if a run in it
# is long and not asked for, 2 if it is long and asked for.
function resolved(expression, x,    out, name, key, full) {
	kept = 0
	out = ""
	expression = expanded(expression)
	while (match(expression, /[a-z][a-z0-9_]*\([A-Za-z0-9_-]+\)/)) {
		key = name = substr(expression, RSTART, RLENGTH)
		sub(/\(.*/, "", key)
		gsub(/^[^(]*\(|\)$/, "", name)
		full = name "@" x
		if (x == "" || !(full in command))
			full = name
		out = out substr(expression, 1, RSTART - 1)
		if (full in command) {
			if (full in is_long)
				kept = long ? 2 : 1
			used[full] = 1
			out = out key "(#" (full in is_long && !long ? "-" : number_of(command[full])) ")"
		} else
			fail("no run " name)
		expression = substr(expression, RSTART + RLENGTH)
	}
	return out expression
}
# Counts of runs whose memory is too small are judged by the ratio: [1 / (1 + t), 1 + t] of the published figure.
function is_thrashing(expression,    name) {
	if (unit !~ /^(faults|pages|copies|transfers|groups|accesses|batches|MiB|GiB|GB)$/)
		return 0
	while (match(expression, /\([A-Za-z0-9_-]+\)/)) {
		name = substr(expression, RSTART + 1, RLENGTH - 2)
		if (command[name] ~ / --(memory|oversub) /)
			return 1
		expression = substr(expression, RSTART + RLENGTH)
	}
	return 0
}
function flush_row(    text) {
	if (id == "")
		return
	text = resolved(expression, "")
	line = id "\t" heading "\t" label "\t" published "\t" unit "\t" tolerance
	print line "\t" text "\t" why "\t" kept "\t" expression "\t" uncounted "\t" is_thrashing(expression) > (work "/rows")
	id = ""
}
BEGIN { FS = " [|] " }
/^#/ && !/^##/ || /^ *$/ { next }
{ line = $0; word = line; sub(/ .*/, "", word); rest = substr(line, length(word) + 2) }
word == "##" { flush_row(); heading = rest; figure = ""; next }
word == ">" { print heading "\t" rest > (work "/text"); next }
word == "run" || word == "long" {
	define(rest, "", word == "long")
	next
}
word == "list" {
	flush_row()
	members = split(rest, member, " ")
	for (i = 1; i <= members; i++) {
		workload[i] = member[i]; sub(/^[^=]*=/, "", workload[i])
		sub(/=.*/, "", member[i])
	}
	next
}
word == "row" {
	flush_row()
	if (NF != 6)
		fail("a row has 6 fields")
	id = $1; sub(/^row +/, "", id)
	if (id in seen)
		fail("row " id " twice")
	seen[id] = 1
	label = $2; published = $3; unit = $4; tolerance = $5; expression = $6; why = uncounted = ""
	wanted = (heading ", " label) ~ pattern
	# Only what is wanted is resolved, so only that is run.
	if (!wanted)
		id = ""
	next
}
word == "why" { if (wanted) why = rest; next }
word == "uncounted" { if (wanted) uncounted = rest; next }
word == "can-fail" || word == "about" || word == "goal" { next }
word == "figure" {
	flush_row()
	figure = $1; sub(/^figure +/, "", figure)
	drawn = pictures != "" && figure ~ pictures
	split("", xs)
	if (drawn)
		print figure "\t" $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 "\t" heading > (work "/figures")
	next
}
word == "x" { count = split(rest, xs, " "); next }
(word == "each" || word == "eachlong") && drawn {
	for (i = 1; i <= count; i++) {
		text = rest
		gsub(/\$x/, xs[i], text)
		define(text, "@" xs[i], word == "eachlong")
	}
	next
}
word == "series" && drawn {
	label = $1; sub(/^series +/, "", label)
	for (i = 1; i <= count; i++) {
		text = $2
		gsub(/\$x/, xs[i], text)
		text = resolved(text, xs[i])
		print figure "\t" label "\t" xs[i] "\t" text > (work "/points")
		if (kept == 1)
			print figure > (work "/kept")
	}
	next
}
# One more point of a series, at an x of its own.
word == "at" && drawn {
	x = $1; sub(/^at +/, "", x)
	text = resolved($3, "")
	print figure "\t" $2 "\t" x "\t" text > (work "/points")
	if (kept == 1)
		print figure > (work "/kept")
	next
}
word == "published:" && drawn {
	label = $1
	n = split($2, literal, " ")
	for (i = 1; i <= n; i++) {
		if (split(literal[i], part, "=") != 2)
			fail("figure " figure ": " label " needs X=VALUE")
		print figure "\t" label "\t" part[1] "\t" part[2] > (work "/points")
	}
	next
}
word == "each" || word == "eachlong" || word == "series" || word == "at" || word == "published:" { next }
{ fail("unknown word " word) }
END {
	flush_row()
	for (i = 1; i <= names; i++)
		if (order[i] in used)
			print order[i] "\t" command[order[i]] > (work "/names")
}
