# Finds cycles and upward references among object files. Reads lines of these kinds, in this order:
#
#   order DOCUMENT          the files of the engine have an order, which DOCUMENT lists
#   listed FILE             the next file in that order, the lowest first
#   ignored SYMBOL          a name that does not count: libc exports it
#   defined FILE SYMBOL     FILE defines SYMBOL
#   needed FILE SYMBOL      FILE refers to SYMBOL
#
# Prints one paragraph for each cycle (strongly connected component), one line for each upward reference. Prints nothing if all
# is well.

$1 == "order" { document = $2 }
$1 == "listed" {
	if ($2 in place) print document " lists " $2 " twice"
	place[$2] = ++places
	entry[places] = $2
}
$1 == "ignored" { ignored[$2] = 1 }
$1 == "defined" && !($3 in ignored) {
	files[$2] = 1
	definers[$3] = definers[$3] " " $2
}
$1 == "needed" && !($3 in ignored) {
	files[$2] = 1
	asked[++requests] = $2
	wanted[requests] = $3
}

# The level of a file by its folder; "" if the folder has no level.
function level(file) {
	if (file ~ /^libuvmpolicy\/base\//) return 0
	if (file ~ /^libuvmpolicy\/(decisions|prefetch|evict|adapt)\//) return 1
	if (file ~ /^libuvmpolicy\/policy\//) return 2
	if (file ~ /^libuvmpolicy\/engine\//) return 3
	if (file ~ /^adapters\/common\//) return 4
	if (file ~ /^adapters\//) return 5
	return ""
}

# Is `to` above `from`: in a higher folder, or later in the order of the engine?
function is_upward(from, to) {
	if (level(from) == "" || level(to) == "") return 0
	return level(from) < level(to) || ((from in place) && (to in place) && place[from] < place[to])
}

function add_edge(from, to, symbol) {
	if (from == to) return
	if (!((from, to) in symbols)) {
		successor[from, ++successors[from]] = to
		symbols[from, to] = symbol
	} else if (index(", " symbols[from, to] ", ", ", " symbol ", ") == 0 && length(symbols[from, to]) < 120) {
		symbols[from, to] = symbols[from, to] ", " symbol
	}
}

# Tarjan's algorithm. Numbers the components: component[file].
function visit(file,    i, to) {
	number[file] = low[file] = ++visited
	stack[++depth] = file
	on_stack[file] = 1
	for (i = 1; i <= successors[file]; i++) {
		to = successor[file, i]
		if (!(to in number)) {
			visit(to)
			if (low[to] < low[file]) low[file] = low[to]
		} else if (on_stack[to] && number[to] < low[file]) {
			low[file] = number[to]
		}
	}
	if (low[file] == number[file]) {
		components++
		do {
			to = stack[depth--]
			on_stack[to] = 0
			component[to] = components
			size[components]++
		} while (to != file)
	}
}

# The shortest cycle through `start`, as "start b c start"; "" if there is none.
function cycle_through(start,    queue, head, tail, i, from, to, before, path) {
	queue[head = tail = 1] = start
	while (head <= tail) {
		from = queue[head++]
		for (i = 1; i <= successors[from]; i++) {
			to = successor[from, i]
			if (component[to] != component[start]) continue
			if (to == start) {
				for (path = start; from != start; from = before[from]) path = from " " path
				return start " " path
			}
			if (!(to in before)) {
				before[to] = from
				queue[++tail] = to
			}
		}
	}
	return ""
}

function print_component(c,    file, path, shortest, n, parts, i, least) {
	printf "a cycle of %d files:", size[c]
	for (i = 1; i <= count; i++) if (component[sorted[i]] == c) printf " %s", sorted[i]
	print ""
	for (i = 1; i <= count; i++) {
		if (component[sorted[i]] != c) continue
		path = cycle_through(sorted[i])
		n = split(path, parts, " ")
		if (!least || n < least) {
			least = n
			shortest = path
		}
	}
	n = split(shortest, parts, " ")
	for (i = 1; i < n; i++) print "  " parts[i] " needs " parts[i + 1] " for " symbols[parts[i], parts[i + 1]]
}

END {
	for (i = 1; i <= requests; i++) {
		n = split(definers[wanted[i]], to, " ")
		for (j = 1; j <= n; j++) add_edge(asked[i], to[j], wanted[i])
	}
	for (file in files) { # insertion sort: the same order of messages everywhere
		for (i = ++count; i > 1 && sorted[i - 1] > file; i--) sorted[i] = sorted[i - 1]
		sorted[i] = file
	}
	for (i = 1; i <= count; i++) if (!(sorted[i] in number)) visit(sorted[i])
	for (i = 1; i <= count; i++) {
		c = component[sorted[i]]
		if (size[c] > 1 && !printed[c]++) print_component(c)
	}
	for (i = 1; i <= count; i++) {
		for (j = 1; j <= successors[sorted[i]]; j++) {
			other = successor[sorted[i], j]
			if (is_upward(sorted[i], other))
				print sorted[i] " needs " other " of a higher layer for " symbols[sorted[i], other]
		}
	}
	if (document == "") exit
	for (i = 1; i <= count; i++)
		if (sorted[i] ~ /^libuvmpolicy\/engine\// && !(sorted[i] in place)) print document " does not list " sorted[i]
	for (i = 1; i <= places; i++)
		if (!(entry[i] in files)) print document " lists " entry[i] ", which does not exist"
}
