# Draws `count` different programs: a line `GPU OVER WORKLOAD` each, over-subscription in percent. The same seed draws the same
# programs. drawn.awk or drawn_wide.awk, which follows, says what can be drawn.
function below(bound) { # Park and Miller 1988: minimal standard generator
	state = state * 16807 % 2147483647
	return int(state / 2147483647 * bound)
}

function one_of(words,   n, word) {
	n = split(words, word, " ")
	return word[1 + below(n)]
}

function refuse(why) {
	print "drawn: " why >"/dev/stderr"
	exit 1
}

function chance(percent) { return below(100) < percent }

function phase(arrays, passes) { return one_of("scan random zipf back") "@" below(arrays) "*" one_of(passes) }

# Phases of a synthetic workload, one behind the other: a first one, and as many as one of the words `more` says.
function sequence(arrays, passes, more,   text, n) {
	text = phase(arrays, passes)
	for (n = one_of(more); n > 0; n--)
		text = text "+" phase(arrays, passes)
	return text
}

BEGIN {
	if (seed !~ /^[0-9]+$/ || seed + 0 > 2147483646) refuse("seed: " seed " is not accepted; 0..2147483646")
	if (count !~ /^[0-9]+$/ || count + 0 < 1 || count + 0 > 10000) refuse("count: " count " is not accepted; 1..10000")
	state = seed * 7919 % 2147483646 + 1
	for (i = 0; i < 8; i++)
		below(1)
	while (drawn < count) {
		line = machine() " " workload()
		if (line in known)
			continue
		known[line] = 1
		drawn++
		print line
	}
}
