# Coordinate descent over the keys of a policy. search.sh says what it reads and prints. An assignment is a list of words KEY=VALUE
# of any keys; policy_of makes the policy string from it: without keys that no chosen value uses, and without defaults.

function fail(text) {
	print "search: " text | "cat >&2"
	close("cat >&2")
	failed = 1
	exit 1
}

# -- keys: of `uvmsim list policies` --

# key[1..key_count]; initial[k]: default, values[k]: words or a range; user[k], user_values[k]: used if that key has one of them.
function read_keys(    line, k, part, is_presets, p) {
	while ((getline line <keys) > 0) {
		if (line ~ /^prefetchers:/) break
		if (line ~ /^[a-z_0-9]+$/) key[++key_count] = k = line
		else if (sub(/^    values: /, "", line)) values[k] = line
		else if (sub(/^    default: /, "", line)) initial[k] = line
		else if (sub(/^    used by: /, "", line) && line != "every policy") {
			split(line, part, "=")
			user[k] = part[1]
			user_values[k] = "|" part[2] "|"
		}
	}
	while ((getline line <keys) > 0) {
		if (line ~ /^$/) is_presets = 1
		else if (is_presets && line ~ /^[a-z]/) preset[++preset_count] = p = line
		else if (is_presets && line ~ /^    [a-z_]+=/) {
			sub(/^ +/, "", line)
			preset_policy[p] = preset_policy[p] (preset_policy[p] == "" ? "" : " ") line
		}
	}
	close(keys)
	if (!key_count) fail("uvmsim list policies has no keys")
}

# The value of a key in an assignment: the last one.
function value_of(assignment, k,    n, i, word) {
	n = split(assignment, word, " ")
	for (i = n; i > 0; i--)
		if (index(word[i], k "=") == 1) return substr(word[i], length(k) + 2)
	return initial[k]
}

function is_used(assignment, k) {
	while (k in user) {
		if (!index(user_values[k], "|" value_of(assignment, user[k]) "|")) return 0
		k = user[k]
	}
	return 1
}

function policy_of(assignment,    i, text) {
	for (i = 1; i <= key_count; i++)
		if (value_of(assignment, key[i]) != initial[key[i]] && is_used(assignment, key[i]))
			text = text (text == "" ? "" : " ") key[i] "=" value_of(assignment, key[i])
	return text == "" ? key[1] "=" initial[key[1]] : text
}

# -- the table --

# coordinate[1..coordinates]: name; choice[c, 1..choices[c]]; pair_a, pair_b[1..pairs]; leaves, kept and excluded: sets of words
# and keys; prefix[1..prefixes]: of excluded keys
function exclude(word) {
	if (sub(/[*]$/, "", word)) prefix[++prefixes] = word
	else excluded[word]
}

function is_excluded(word,    i) {
	for (i = 1; i <= prefixes; i++)
		if (index(word, prefix[i]) == 1) return 1
	return word in excluded
}

function read_table(    line, n, part, i, m, word, j) {
	while ((getline line <table) > 0) {
		if (line ~ /^#/ || line ~ /^ *$/) continue
		n = split(line, part, / *[|] */)
		if (part[1] == "both" || part[1] == "remote") {
			for (i = 3; i <= n; i++) {
				m = split(part[i], word, " ")
				for (j = 1; j <= m; j++) {
					known[word[j]]
					sub(/=.*/, "", word[j])
					searched[word[j]]
				}
			}
			if ((part[1] == "remote" && kind != "remote") || (names != "" && !index(" " names " ", " " part[2] " "))) continue
			coordinate[++coordinates] = part[2]
			number[part[2]] = coordinates
			choices[coordinates] = n - 2
			for (i = 3; i <= n; i++) choice[coordinates, i - 2] = part[i]
		} else if (part[1] == "pair") {
			pair_a[++pairs] = part[2]
			pair_b[pairs] = part[3]
		} else {
			m = split(part[2], word, " ")
			for (i = 1; i <= m; i++) {
				if (part[1] == "leaves") leaves[word[i]]
				else if (part[1] == "kept") kept[word[i]]
				else if (part[1] == "excluded") exclude(word[i])
				else fail(table ": \"" part[1] "\" is not accepted")
			}
		}
	}
	close(table)
}

# Names each key and word of the library that the table does not place: a start keeps them, as if they were `kept`. Fails for a key
# of the table that the library does not have.
function check(    i, j, n, word, count, k, names_of) {
	for (i = 1; i <= key_count; i++) {
		k = key[i]
		is_key[k]
		if (!(k in searched) && !(k in kept) && !is_excluded(k)) {
			print "search.txt: the key " k " has no place: only a start\047s value is tried"
		}
		n = split(values[k], word, " ")
		if (!(k in searched) || values[k] ~ /[.][.]/) continue
		for (j = 1; j <= n; j++)
			if (!((k "=" word[j]) in known) && !((k "=" word[j]) in kept) && !is_excluded(k "=" word[j]))
				print "search.txt: " k "=" word[j] " has no place: tried only if a start has it"
	}
	for (i in searched) names_of[i]
	for (i in kept) names_of[i]
	for (i in excluded) names_of[i]
	for (i in names_of) {
		sub(/=.*/, "", i)
		if (!(i in is_key)) {
			print "search.txt: no key is named " i
			count++
		}
	}
	if (count) exit 1
	printf "search.txt: %d keys\n", key_count
}

# May a search begin at this policy? In `without`, nothing may stay in the CPU's memory.
function may_begin(policy, is_remote,    i, n, word, k, v) {
	n = split(policy, word, " ")
	for (i = 1; i <= n; i++) {
		k = v = word[i]
		sub(/=.*/, "", k)
		sub(/.*=/, "", v)
		if (word[i] in excluded) return 0
		if (is_excluded(k) && v != initial[k]) return 0
		if (!is_remote && word[i] in leaves) return 0
	}
	return 1
}

function print_eligible(    i) {
	for (i = 1; i <= preset_count; i++)
		if (may_begin(preset_policy[preset[i]], 1))
			print preset[i] "|" preset_policy[preset[i]] "|" (may_begin(preset_policy[preset[i]], 0) ? "both" : "remote")
}

# -- runs --

function quoted(text) {
	gsub(/'/, "'\\''", text)
	return "'" text "'"
}

# time_of[POLICY]; over[POLICY]: it takes longer than this; wrong[POLICY]: why it cannot run
function read_evaluations(    line, part, file) {
	file = dir "/evaluations"
	while ((getline line <file) > 0) {
		if (line ~ /^#/) continue
		split(line, part, "|")
		if (part[2] == "error") wrong[part[1]] = part[3]
		else if (part[2] ~ /^>/) over[part[1]] = substr(part[2], 2) + 0
		else if (part[2] ~ /^[0-9]+$/) time_of[part[1]] = part[2] + 0
	}
	close(file)
}

# What is known from elsewhere: lines POLICY|TIME_NS. Each is a start as well. known_ns: the least time of a start.
function read_known(start, n,    line, part, file) {
	file = dir "/known"
	while ((getline line <file) > 0) {
		split(line, part, "|")
		time_of[policy_of(part[1])] = part[2] + 0
		if (may_begin(part[1], kind == "remote") && (!known_ns || part[2] + 0 < known_ns)) known_ns = part[2] + 0
		start[++n] = part[1]
	}
	close(file)
	return n
}

# Runs what is in todo[1..n] and not known to take longer than until (0: without end).
function evaluate(todo, n, until,    i, command, list, is_listed, p, status) {
	list = dir "/todo"
	printf "" >list
	for (i = 1; i <= n; i++) {
		p = todo[i]
		if (!(p in asked)) runs++
		asked[p]
		if (p in time_of || p in wrong || p in is_listed || (until && p in over && over[p] >= until)) continue
		is_listed[p]
		print p >list
	}
	close(list)
	command = one " " until " " quoted(arguments) " <" quoted(list)
	for (p in is_listed) {
		if ((status = system(command)) != 0) fail("the runs of " list " ended early: status " status " of xargs (137: killed)")
		read_evaluations()
		return
	}
}

function evaluate_one(p, until,    todo) {
	todo[1] = p
	evaluate(todo, 1, until)
}

# -- the descent --

# Tries assignments tried[1..n]; the best of them becomes `now` if it is faster. With one job at a time a run need not go on
# when it is slower than the best of those before.
function take_best(n,    i, todo, best, p) {
	for (i = 1; i <= n; i++) todo[i] = policy_of(tried[i])
	if (jobs != 1) evaluate(todo, n, now_ns)
	for (i = 1; i <= n; i++) {
		p = todo[i]
		if (jobs == 1) evaluate_one(p, now_ns)
		if (!(p in time_of) || time_of[p] >= now_ns) continue
		now_ns = time_of[p]
		best = i
	}
	if (best) now = tried[best]
}

function sweep(    c, i) {
	for (c = 1; c <= coordinates; c++) {
		for (i = 1; i <= choices[c]; i++) tried[i] = now " " choice[c, i]
		take_best(choices[c])
	}
}

function try_pairs(    q, i, j, n, a, b) {
	for (q = 1; q <= pairs; q++) {
		a = number[pair_a[q]]
		b = number[pair_b[q]]
		if (!a || !b) continue
		n = 0
		for (i = 1; i <= choices[a]; i++)
			for (j = 1; j <= choices[b]; j++) tried[++n] = now " " choice[a, i] " " choice[b, j]
		take_best(n)
	}
}

function descend(start,    i, before) {
	now = start
	now_ns = time_of[policy_of(start)]
	for (i = 1; i <= sweeps; i++) {
		before = now_ns
		sweep()
		if (now_ns > 0.995 * before) break
	}
	before = now_ns
	try_pairs()
	if (now_ns < before) sweep()
}

function search(    line, file, n, i, j, start, todo, best, best_ns, x, given, m) {
	read_evaluations()
	m = read_known(given, 0)
	file = dir "/starts"
	while ((getline line <file) > 0) {
		if (line in preset_policy) line = preset_policy[line]
		if (line !~ /=/) fail("no preset is named " line)
		given[++m] = line
	}
	close(file)
	for (i = 1; i <= m; i++)
		if (may_begin(given[i], kind == "remote")) {
			start[++n] = given[i]
			todo[n] = policy_of(given[i])
		}
	if (!n) fail("no start may be used")
	evaluate(todo, n, 4 * known_ns) # a start that is much slower than another is no good one
	# the fastest first; equal ones in their order; one of those that are the same policy
	for (i = 1; i <= n; i++) if (!(todo[i] in time_of)) time_of_start[i] = 1e300
	else time_of_start[i] = time_of[todo[i]]
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && time_of_start[j - 1] > time_of_start[j]; j--) {
			x = time_of_start[j]; time_of_start[j] = time_of_start[j - 1]; time_of_start[j - 1] = x
			x = start[j]; start[j] = start[j - 1]; start[j - 1] = x
		}
	if (!descents && time_of_start[1] < 1e300) {
		best = policy_of(start[1])
		best_ns = time_of_start[1]
	}
	for (i = 1; i <= n && done_count < descents; i++) {
		if (time_of_start[i] == 1e300 || policy_of(start[i]) in was_start) continue
		was_start[policy_of(start[i])]
		done_count++
		descend(start[i])
		if (!best_ns || now_ns < best_ns) {
			best = policy_of(now)
			best_ns = now_ns
		}
	}
	if (!best_ns) fail("no start runs: " wrong[todo[1]])
	printf "%s|%.0f|%d|%d\n", best, best_ns, runs, done_count
}

BEGIN {
	read_keys()
	read_table()
	if (mode == "check") check()
	else if (mode == "eligible") print_eligible()
	else search()
}
