# The document: tables per source, why rows miss, pictures, and the commands. Reads text, figures, then the results
# (value, date, row of plan.awk). Writes the new list of results to `list`. Known results are in `known`.
function shown(x,    s) {
	if (x == int(x))
		return sprintf("%.0f", x)
	return x >= 100 || x <= -100 ? sprintf("%.0f", x) : x >= 1 || x <= -1 ? sprintf("%.2f", x) : sprintf("%.3f", x)
}
# Rows that miss for the same reason share a line.
function reason(why, label) {
	if (!(why in missed))
		reasons[++reason_count] = why
	missed[why] = missed[why] (why in missed && missed[why] != "" ? "; " : "") label
}
function end_of_section(    i) {
	if (heading == "")
		return
	if (reason_count)
		print "\nWhy rows miss:\n"
	for (i = 1; i <= reason_count; i++)
		print "- " reasons[i] " (" missed[reasons[i]] ")"
	reason_count = 0
	split("", missed)
	pictures_of(heading)
	print "\n<details><summary>How each is computed</summary>\n\n```text\n" computed "```\n\n</details>"
	computed = ""
}
function pictures_of(name,    i, at) {
	for (i = 1; i <= figures; i++) {
		if (figure_heading[i] != name)
			continue
		at = "fidelity/" figure_name[i]
		print "\n" figure_title[i] " ([data](" at ".csv)):\n\n![" figure_title[i] "](" at ".svg)"
	}
}
# `misses` is bold; a row that is not counted says why.
function verdict_text(    text) {
	if (verdict != "uncounted")
		return verdict == "misses" ? "**misses**" : verdict
	text = $13
	if (sub(/^repeats /, "", text))
		text = "repeats \"" label_of[text] "\""
	sub(/^(decision|certain|source|random|contradicts|undisclosed [^ ]+ [0-9]+|quotient [^ ]+ [^ ]+) /, "", text)
	if (sub(/^input [^ ]+ [^ ]+ /, "", text))
		text = "input of the model: " text
	uncounted++
	return "not counted: " text
}
FILENAME == known { was[$1] = $3; next }
FILENAME == work "/text" { text[$1] = text[$1] "\n" $2; next }
FILENAME == work "/figures" {
	figure_name[++figures] = $1; figure_title[figures] = $2; figure_heading[figures] = $7
	next
}
{
	value = $1; date = $2; id = $3; label = label_of[id] = $5; published = $6; unit = $7; tolerance = $8; why = $10
	if ($4 != heading) {
		end_of_section()
		heading = $4
		print "\n## " heading
		if (heading in text)
			print text[heading]
		print "\n| figure | published | simulated | error | |\n|---|---|---|---|---|"
	}
	error = ""
	if (value ~ /^error/) {
		verdict = "misses"; simulated = "(" value ")"
		if (unit != "ordering")
			published = published " " unit
	} else if (unit == "ordering") {
		verdict = value == 1 ? "inside" : "misses"; published = "so it is"; simulated = value == 1 ? "so it is" : "not so"
	} else if (split(published, range, /\.\./) == 2) {
		verdict = value >= range[1] && value <= range[2] ? "inside" : "misses"
		published = range[1] " to " range[2] " " unit; simulated = shown(value) " " unit
	} else {
		percent = published == 0 ? (value == 0 ? 0 : 100) : 100 * (value / published - 1)
		least = $14 ? 100 * (1 / (1 + tolerance / 100) - 1) : -tolerance
		verdict = percent <= tolerance && percent >= least ? "inside" : "misses"
		error = sprintf("%+.1f %%", percent); published = published " " unit; simulated = shown(value) " " unit
	}
	if (tolerance == "-")
		verdict = "given"
	else if ($13 != "")
		verdict = "uncounted"
	else
		rows++
	inside += verdict == "inside"
	if (date != "")
		simulated = simulated " (" date ")"
	print "| " label " | " published " | " simulated " | " error " | " verdict_text() " |"
	if (verdict == "misses")
		reason(why != "" ? why : "Not explained yet.", label)
	computed = computed label "\n    " $12 "\n"
	print id "\t" value "\t" verdict (date != "" ? "\t" date : "") > list
	if (was[id] == "inside" && verdict != "inside") {
		print "fidelity: " id " was inside and " (verdict == "uncounted" ? "is not counted" : "is " simulated) \
			" now, published " published > "/dev/stderr"
		lost++
	}
}
END {
	end_of_section()
	print "\n" inside + 0 " of " rows + 0 " rows are inside. " uncounted + 0 " more rows are shown but not counted."
	print inside + 0 " of " rows + 0 " rows inside" > "/dev/stderr"
	exit lost > 0
}
