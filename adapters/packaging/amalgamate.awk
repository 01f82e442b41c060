# One header and one source of the library, from its files: read by amalgamate.sh.
#
# usage: awk -v top=DIR -v part_name=header|source -v prefix=NAME -f amalgamate.awk FILE...
#
# Prints the FILEs, one after the other, with their headers in place of the #include lines, each header once. On the way:
#   - A name that several sources declare at file scope gets the name of its source in front: copy of plan.c is plan_copy.
#   - Functions with uvmpi_ become static. Macros of a source end with it.
#   - Words that C++ reserves and that are names here get a _ behind them; restrict is __restrict.
#   - With a prefix other than uvmp, uvmp_ and uvmpi_ become prefix_ and prefixi_, also in capitals, also in comments.
# Exits 1 if two headers declare the same name, or if a new name is taken already.
#
# A file is cut into tokens line by line. Statements outside of braces are read as declarations, as far as needed for their names.

function fail(text) {
	print "amalgamate: " text >"/dev/stderr"
	has_failed = 1
	exit 1
}

# The file of #include "NAME" in a file: beside it, or below include/. "" for a header of the system.
function resolve(name, from,    path, line, n) {
	path = from
	sub(/[^\/]*$/, "", path)
	path = path name
	while (match(path, /[^\/.][^\/]*\/\.\.\//)) path = substr(path, 1, RSTART - 1) substr(path, RSTART + RLENGTH)
	if (path in is_file) return path
	if (("include/" name) in is_file) return "include/" name
	return ""
}

# ---- tokens ------------------------------------------------------------------------------------------------------

# The next token of `rest`, which it is taken from. `kind`: word, text (a string, a character, a number), note (a part of a
# comment), blank, other. in_note says that the token before left a comment open.
function token(    end) {
	if (in_note) {
		kind = "note"
		end = index(rest, "*/")
		if (end) in_note = 0
		return take(end ? end + 1 : length(rest))
	}
	if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) {
		kind = "word"
		return take(RLENGTH)
	}
	if (match(rest, /^[ \t]+/)) {
		kind = "blank"
		return take(RLENGTH)
	}
	if (match(rest, /^("([^"\\]|\\.)*"|'([^'\\]|\\.)*'|[0-9][0-9A-Za-z_.]*)/)) {
		kind = "text"
		return take(RLENGTH)
	}
	if (substr(rest, 1, 2) == "/*") {
		in_note = 1
		end = index(substr(rest, 3), "*/")
		kind = "note"
		if (end) in_note = 0
		return take(end ? end + 3 : length(rest))
	}
	if (substr(rest, 1, 2) == "//") {
		kind = "note"
		return take(length(rest))
	}
	kind = "other"
	return take(substr(rest, 1, 2) == "->" ? 2 : 1)
}
function take(length_,    taken) {
	taken = substr(rest, 1, length_)
	rest = substr(rest, length_ + 1)
	return taken
}

# ---- first pass: the names that a file declares at file scope ----------------------------------------------------------

function scan(path,    line, t, number, is_directive, word) {
	braces = parens = words = in_note = is_directive = 0
	body = ""
	number = 0
	while ((getline line <(top path)) > 0) {
		number++
		if (!in_note && !is_directive && line ~ /^[ \t]*#/) {
			is_directive = 1
			if (match(line, /^[ \t]*#[ \t]*define[ \t]+[A-Za-z_0-9]+/)) {
				word = substr(line, 1, RLENGTH)
				sub(/.*[ \t]/, "", word)
				if (word !~ /_H$/ && !((path, word) in is_declared)) {
					found(path, word)
					macros[path] = macros[path] " " word
				}
			}
		}
		rest = line
		while (rest != "") {
			t = token()
			if (kind == "word") is_taken[t] = 1
			if (kind == "word" || kind == "other" || kind == "text") if (!is_directive) declare(path, number, t)
		}
		if (is_directive && line !~ /\\$/) is_directive = 0
	}
	close(top path)
	if (braces || parens) fail(path ": brackets do not match")
}

# Takes the next token of a file. At file scope: collects a declaration in part[1..words], and names it where it ends.
function declare(path, number, t) {
	if (t == "{") {
		if (!braces++ && !parens) {
			body = has("=") ? "value" : part[words] == ")" ? "function" : has("enum") ? "enum" : \
				part[words] == "\"C\"" ? "linkage" : "fields"
			if (body == "linkage") { # what it holds is at file scope
				braces = words = 0
				linkages++
				return
			}
			if ((body == "fields" || body == "enum") && part[words - 1] ~ /^(enum|struct|union)$/) found(path, "struct " part[words])
		}
		previous = t
		return
	}
	if (t == "}") {
		if (!braces) {
			if (!linkages--) fail(path ":" number ": one } too many")
			return
		}
		if (!--braces && body == "function") {
			finish(path)
			words = 0
		}
		return
	}
	if (braces) {
		if (body == "enum" && braces == 1 && kind == "word" && (previous == "{" || previous == ",")) found(path, t)
		previous = t
		return
	}
	if (t == "(") parens++
	if (t == ")") parens--
	if (t == ";" && !parens) {
		finish(path)
		words = 0
		return
	}
	if (!words) begun = number
	part[++words] = t
	if (t == ")" && !parens && part[1] ~ /^[A-Z_0-9]+$/ && part[2] == "(") words = 0 # a macro that declares something
}
function has(word,    i) {
	for (i = 1; i <= words; i++) if (part[i] == word) return 1
	return 0
}
# The declaration in part[1..words] has ended.
function finish(path,    i, name, is_function) {
	if (part[1] == "_Static_assert") return
	for (i = 2; i <= words; i++) {
		if (part[i] == "(" && part[i - 1] !~ /^(__attribute__|_Alignas)$/) {
			name = part[i - 1]
			is_function = 1
			break
		}
		if (part[i] == "=" || part[i] == "[") {
			name = part[i - 1]
			break
		}
	}
	if (name == "" && (part[1] == "typedef" || part[1] in is_function_type)) name = part[words]
	if (name !~ /^[A-Za-z_]/) return
	if (part[1] == "typedef" && is_function) is_function_type[name] = 1
	if (part[1] == "typedef" || has("static") || part[1] == "UVMPI_INLINE") found(path, name)
	else if ((is_function || part[1] in is_function_type) && name ~ /^uvmpi_/) is_private[path, begun] = 1
}
# A name that has a meaning in this file only, or in all files if a header declares it. A tag is "struct NAME".
function found(path, name) {
	if ((path, name) in is_declared) return
	is_declared[path, name] = 1
	if (path ~ /\.h$/) {
		if (name in header_of) fail(name " is declared in " header_of[name] " and in " path)
		header_of[name] = path
	} else {
		declared[++declarations] = name
		declared_in[declarations] = path
		sources_with[name]++
	}
}
# Each name of several sources gets the name of its source in front.
function rename(    i, name, path, new) {
	for (i = 1; i <= declarations; i++) {
		name = declared[i]
		path = declared_in[i]
		if (sources_with[name] < 2 && !(name in header_of)) continue
		new = path
		gsub(/.*\/|\.c$/, "", new)
		new = new "_" (name ~ / / ? substr(name, 8) : name)
		if (new in is_taken && taken_by[new] != path) fail(path ": the new name of " name " is taken: " new)
		is_taken[new] = 1
		taken_by[new] = path # a tag and a variable may share it
		new_name[path, name] = new
	}
}

# ---- second pass: the text ----------------------------------------------------------------------------------------

function prefixed(word) {
	if (prefix == "uvmp") return word
	if (word ~ /^uvmpi?(_|$)/) return prefix substr(word, 5)
	if (word ~ /^UVMPI?(_|$)/) return toupper(prefix) substr(word, 5)
	if (word ~ /^UVMPOLICY_/) return toupper(prefix) "_" substr(word, 11)
	return word
}
function prefixed_in_note(text,    out, word) {
	if (prefix == "uvmp") return text
	out = ""
	while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
		word = substr(text, RSTART, RLENGTH)
		out = out substr(text, 1, RSTART - 1) prefixed(word)
		text = substr(text, RSTART + RLENGTH)
	}
	return out text
}
# Is the word in front of `rest` a field? In a declaration, then another follows, its size, its bits or the end. As the argument of
# a macro: offsetof(struct x, field).
function is_field(before) {
	if (before == "," && before_those ~ /^(struct|union)$/) return 1
	return has_fields[depth] && (rest ~ /^[ \t]*[;,:[]/ || before == "*" && rest ~ /^\)/)
}
function transformed(path, line,    t, out) {
	out = ""
	if (line ~ /^#/) before = ""
	rest = line
	while (rest != "") {
		t = token()
		if (kind == "note") t = prefixed_in_note(t)
		if (kind == "word") {
			if (part_is_source && t in is_reserved) t = t == "restrict" ? "__restrict" : t "_"
			if (before ~ /^(struct|enum|union)$/) {
				if ((path, "struct " t) in new_name) t = new_name[path, "struct " t]
			} else if ((path, t) in new_name && before != "." && before != "->" && !is_field(before)) t = new_name[path, t]
			t = prefixed(t)
		}
		if (kind != "blank" && kind != "note") {
			if (t == "{") has_fields[++depth] = before ~ /^(struct|union)$/ || before_that ~ /^(struct|union)$/
			if (t == "}") depth--
			before_those = before_that
			before_that = before
			before = t
			if (line !~ /^#/) has_code = 1
		}
		out = out t
	}
	return out
}
# Prints a file, and before it what it includes.
function put(path,    line, name, number, text, guard, i, opening, closing, is_page) {
	is_put[path] = 1
	number = in_note = has_code = depth = 0
	before = before_that = before_those = ""
	text = ""
	guard = ""
	while ((getline line <(top path)) > 0) {
		number++
		if (match(line, /^#include "[^"]*"/)) {
			name = resolve(substr(line, 11, RLENGTH - 11), path)
			if (name == "") fail(path ":" number ": " line ": no such file")
			if (!(name in is_put) && !(part_is_source && name ~ /^include\//)) queue[path, ++queued[path]] = name
			continue
		}
		if (number > 1 && guard == "" && line ~ /^#ifndef [A-Z_0-9]+_H$/) { # the guard of a header: not needed
			guard = substr(line, 9)
			continue
		}
		if (guard != "" && line == "#define " guard) continue
		if ((path, number) in is_private) line = "static " line
		text = text transformed(path, line) "\n"
	}
	close(top path)
	if (guard != "") sub(/#endif\n+$/, "", text)
	text = text undefined(path)
	if (!part_is_source) { # one extern "C" around all
		opening = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
		closing = "#ifdef __cplusplus\n}\n#endif\n"
		while (i = index(text, closing)) text = substr(text, 1, i - 1) substr(text, i + length(closing))
		if (i = index(text, opening)) if (is_open++) text = substr(text, 1, i - 1) substr(text, i + length(opening))
	}
	is_page = !has_code # comments alone come before what they describe
	if (is_page) print_file(path, text)
	for (number = 1; number <= queued[path]; number++) if (!(queue[path, number] in is_put)) put(queue[path, number])
	if (!is_page) print_file(path, text)
}
# The macros of a source end with it.
function undefined(path,    count, i, name, text) {
	if (path !~ /\.c$/) return ""
	count = split(macros[path], name, " ")
	for (i = 1; i <= count; i++) text = text "#undef " prefixed((path, name[i]) in new_name ? new_name[path, name[i]] : name[i]) "\n"
	return text
}
function print_file(path, text) {
	gsub(/\n\n\n+/, "\n\n", text)
	sub(/\n+$/, "\n", text)
	sub(/^(include\/uvmpolicy|libuvmpolicy)\//, "", path)
	printf "\n/* %s %s */\n\n%s", substr(dashes, 1, 100 - length(path)), path, text
}

BEGIN {
	if (prefix == "") prefix = "uvmp"
	part_is_source = part_name == "source"
	dashes = sprintf("%100s", "")
	gsub(/ /, "-", dashes)
	count = split("alignas alignof and and_eq asm bitand bitor catch class compl constexpr const_cast decltype delete " \
		"dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq " \
		"private protected public reinterpret_cast restrict static_cast template this thread_local throw try typeid typename " \
		"using virtual wchar_t xor xor_eq", word, " ")
	for (i = 1; i <= count; i++) is_reserved[word[i]] = 1
	for (i = 1; i < ARGC; i++) is_file[ARGV[i]] = 1
	if (part_is_source) {
		for (i = 1; i < ARGC; i++) scan(ARGV[i])
		rename()
	}
	for (i = 1; i < ARGC; i++) if (!(ARGV[i] in is_put) && (part_is_source ? ARGV[i] ~ /\.c$/ : 1)) put(ARGV[i])
}
