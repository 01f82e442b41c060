# The deepest chain of calls in bytes of stack, its first function and its last one: reads the compiler's stack usage
# (FILE:LINE[:COLUMN]:NAME, bytes, ..., separated by tabs), then pairs "caller callee" as calls.awk prints them. Functions without
# an entry (the four mem functions) count as 0. An indirect call counts as a call to every function whose address is taken: an
# upper bound.

# Parts that the compiler has split off have a number at the end, which some of its versions leave out of the stack usage.
function depth(name,  listed)
{
	listed = name
	if (!(listed in bytes))
		sub(/\.[0-9]+$/, "", listed)
	return bytes[listed] + below[name]
}

FNR == 1 {
	input++
}

input == 1 {
	name = part[split($1, part, ":")]
	sub(/^.*\//, "", part[1])
	bytes[name] = $2
	bytes[part[1] ":" name] = $2
	next
}

{
	split($0, pair, " ")
	caller[++calls] = pair[1]
	callee[calls] = pair[2]
}

# Without recursion no chain is longer than there are functions and the values settle; with it they would grow without end.
END {
	for (changed = 1; changed && rounds++ < 200;) {
		changed = 0
		for (i = 1; i <= calls; i++)
			if (depth(callee[i]) > below[caller[i]]) {
				below[caller[i]] = depth(callee[i])
				next_of[caller[i]] = callee[i]
				changed = 1
			}
	}
	for (name in bytes)
		if (name !~ /:/ && (depth(name) > deepest || depth(name) == deepest && name < first)) {
			deepest = depth(name)
			first = name
		}
	for (last = first; last in next_of;)
		last = next_of[last]
	print deepest + 0, first, last
}
