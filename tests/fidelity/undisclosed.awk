# Checks the rows that an input decides which their source does not state: `uncounted undisclosed EXPERIMENT COLUMN TEXT`.
# Reads the page of experiments, then rows.txt with reasons.awk. Prints one line per finding; exit status 1 if there is one.
#
# COLUMN counts the columns behind the change in the table of the experiment, which has at least three inputs. The line
# `published` of the table has the row's published figure there, perhaps rounded. Then, by the rule of head.md:
#   a figure      TEXT has the ends of the column, rounded, after `give`: LEAST to MOST (or `or`). MOST is farther from LEAST
#                 than the row's tolerance, and at least one input is within the tolerance
#   a range       TEXT has the ends, too. Some inputs are inside, others are not
#   an ordering   the column has `yes` and `no`, or numbers and a published `> X`. Some inputs meet it, others do not; TEXT says
#                 with which it `does not hold` and with which it `does`
function finding(id, text) {
	print "fidelity: row " id ": " text
	found = 1
}
# The number as `like` is written: with as many digits behind the point.
function rounded(number, like,    digits) {
	digits = like ~ /[.]/ ? length(like) - index(like, ".") : 0
	return sprintf("%." digits "f", number) + 0
}
# Sets least and most to the ends of a column; 0 if a cell is no number.
function ends(name, column,    i, x) {
	least = 1e300
	most = -1e300
	for (i = 1; i <= inputs[name]; i++) {
		if (figure[name, i, column] !~ /^-?[0-9]/)
			return 0
		x = figure[name, i, column] + 0
		if (x < least) least = x
		if (x > most) most = x
	}
	return 1
}
# Does the cell of an input meet the published figure of the row, which is `cell` in the table?
function meets(id, x, cell,    range) {
	if (unit[id] == "ordering")
		return cell ~ /^>/ ? x + 0 > substr(cell, 2) + 0 : x == cell
	if (split(published[id], range, /[.][.]/) == 2)
		return x + 0 >= range[1] && x + 0 <= range[2]
	return x + 0 <= published[id] * (1 + tolerance[id] / 100) && x + 0 >= published[id] * (1 - tolerance[id] / 100)
}
# Is the cell of the line `published` the figure of the row?
function is_published(id, cell) {
	if (unit[id] == "ordering")
		return cell ~ /^(yes|no|> [0-9.]+)$/
	if (published[id] ~ /[.][.]/)
		return cell == published[id]
	sub(/ .*/, "", cell)
	return cell ~ /^[0-9.]+$/ && rounded(published[id], cell) == cell + 0
}
function check_text(id, text,    part) {
	if (unit[id] == "ordering") {
		if (text !~ / does not hold/ || !gsub(/ does not/, "", text) || text !~ / does([ ,;(]|$)/)
			finding(id, "the reason does not say with which input the ordering `does not hold` and with which it `does`")
	} else if (!match(text, / give .*/) || !match(text = substr(text, RSTART), /[0-9.]+ (to|or) [0-9.]+/))
		finding(id, "the reason does not say what the inputs `give`: LEAST to MOST")
	else {
		split(substr(text, RSTART, RLENGTH), part, / (to|or) /)
		if (rounded(least, part[1]) != part[1] + 0 || rounded(most, part[2]) != part[2] + 0)
			finding(id, "the column goes from " least " to " most ", not from " part[1] " to " part[2])
	}
}
function check(id, name, column, text,    i, cell, met) {
	if (inputs[name] < 3) {
		finding(id, "the experiment `" name "` has " inputs[name] + 0 " inputs, fewer than three")
		return
	}
	cell = head[name, column]
	if (!is_published(id, cell)) {
		finding(id, "column " column " of " name " has the published `" cell "`, not " published[id])
		return
	}
	if (unit[id] != "ordering" && !ends(name, column)) {
		finding(id, "column " column " of " name " has no numbers")
		return
	}
	check_text(id, text)
	for (i = 1; i <= inputs[name]; i++)
		met += meets(id, figure[name, i, column], cell)
	if (!met)
		finding(id, "no input of " name " is inside, so it counts as a miss")
	else if (unit[id] == "ordering" || published[id] ~ /[.][.]/) {
		if (met == inputs[name])
			finding(id, "every input of " name " gives the same verdict, so it counts")
	} else if (most <= least * (1 + tolerance[id] / 100))
		finding(id, least " to " most " is within the tolerance, so it counts")
}
BEGIN { FS = " [|] " }
FILENAME !~ /rows/ && /^[|] +[|] published [|] / {
	line = $0
	sub(/^[|] +[|] published [|] /, "", line)
	sub(/ *[|]$/, "", line)
	cells = split(line, cell_of, / *[|] */)
	next
}
FILENAME !~ /rows/ && /^[|] [a-z]+_[a-z]+ [|]/ {
	name = $1
	sub(/^[|] /, "", name)
	sub(/ [|]$/, "", $NF)
	if (!inputs[name]++)
		for (i = 1; i <= cells; i++)
			head[name, i] = cell_of[i]
	for (i = 3; i <= NF; i++)
		figure[name, inputs[name], i - 2] = $i
	next
}
FILENAME !~ /rows/ && /^## / { cells = 0 }
FILENAME !~ /rows/ { next }
/^row / {
	id = $1; sub(/^row +/, "", id)
	published[id] = $3; unit[id] = $4; tolerance[id] = $5
	next
}
/^uncounted undisclosed / {
	text = $0
	sub(/^uncounted undisclosed /, "", text)
	split(text, word, " ")
	sub(/^[^ ]* *[^ ]* */, "", text)
	check(id, word[1], word[2], text)
}
END { exit found }
