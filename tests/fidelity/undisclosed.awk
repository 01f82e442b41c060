# Checks the rows that an input decides which their source does not tell: `uncounted undisclosed EXPERIMENT TEXT`.
# Reads the page of experiments, then rows.txt. Prints one line per finding; exit status 1 if there is one.
#
# Such a row names an experiment of the page, whose table has at least three inputs. TEXT says how far they move the figure:
#   inputs `give` LEAST to MOST (or `or`)   a column of the table has these as its ends, as TEXT rounds them. They are farther apart
#                                           than the tolerance of the row; of a range, some inputs are inside and others are not
#   of an ordering                          with one input it `does not hold`, with another it `does`
function finding(id, text) {
	print "fidelity: row " id ": " text
	found = 1
}
# The number as `like` is written: with as many digits behind the point.
function rounded(number, like,    digits) {
	digits = like ~ /[.]/ ? length(like) - index(like, ".") : 0
	return sprintf("%." digits "f", number) + 0
}
# Does the column of the experiment's table have least and most as its ends?
function spans(name, column, least, most,    i, x, low, high) {
	low = 1e300
	high = -1e300
	for (i = 1; i <= inputs[name]; i++) {
		if (figure[name, i, column] !~ /^-?[0-9]/)
			return 0
		x = figure[name, i, column] + 0
		if (x < low) low = x
		if (x > high) high = x
	}
	return rounded(low, least) == least + 0 && rounded(high, most) == most + 0
}
# Is the range of the row met by some inputs, and missed by others?
function divides(name, column, range,    i, x, met) {
	for (i = 1; i <= inputs[name]; i++) {
		x = figure[name, i, column] + 0
		met += x >= range[1] && x <= range[2]
	}
	return met > 0 && met < inputs[name]
}
function check_span(id, name, text,    part, range, column) {
	if (!match(text, / give .*/) || !match(text = substr(text, RSTART), /[0-9.]+ (to|or) [0-9.]+/)) {
		finding(id, "the reason does not say what the inputs `give`: LEAST to MOST")
		return
	}
	split(substr(text, RSTART, RLENGTH), part, / (to|or) /)
	for (column = 1; column <= columns[name] && !spans(name, column, part[1], part[2]); column++)
		;
	if (column > columns[name])
		finding(id, "no column of " name " goes from " part[1] " to " part[2])
	else if (split(published[id], range, /[.][.]/) == 2) {
		if (!divides(name, column, range))
			finding(id, "every input of " name " gives the same verdict, so it counts")
	} else if (part[2] <= part[1] * (1 + tolerance[id] / 100))
		finding(id, part[1] " to " part[2] " is within the tolerance, so it counts")
}
BEGIN { FS = " [|] " }
FILENAME !~ /rows/ && /^[|] [a-z]+_[a-z]+ [|]/ {
	name = $1
	sub(/^[|] /, "", name)
	sub(/ [|]$/, "", $NF)
	inputs[name]++
	columns[name] = NF - 2
	for (i = 3; i <= NF; i++)
		figure[name, inputs[name], i - 2] = $i
	next
}
FILENAME !~ /rows/ { next }
/^row / {
	id = $1; sub(/^row +/, "", id)
	published[id] = $3; unit[id] = $4; tolerance[id] = $5
	next
}
/^uncounted undisclosed / {
	text = $0
	sub(/^uncounted undisclosed /, "", text)
	name = text
	sub(/ .*/, "", name)
	sub(/^[^ ]* */, "", text)
	if (inputs[name] < 3)
		finding(id, "the experiment `" name "` has " inputs[name] + 0 " inputs, fewer than three")
	else if (unit[id] != "ordering")
		check_span(id, name, text)
	else if (text !~ / does not hold/ || !gsub(/ does not/, "", text) || text !~ / does([ ,;(]|$)/)
		finding(id, "the reason does not say with which input the ordering `does not hold` and with which it `does`")
}
END { exit found }
