# Turns the plain comments of a header into Doxygen's, on its way to Doxygen (FILTER_PATTERNS); the headers stay as they are.
#
#   the first comment of the file        /** @file ... */
#   a comment on lines of its own        /** ... */, of the declaration that follows
#   a comment behind code                /**< ... */
#   /* -- heading -- */, and comments in a macro of several lines stay comments
#
# Text is literal but for `code`. Lines that are indented by two blanks or more are kept as they are.
function text(line) {
	gsub(/[\\@<>&#%"]/, "\\\\&", line)
	gsub(/`[^`]*`/, "<tt>&</tt>", line)
	gsub(/`/, "", line)
	return line
}
# One line of a comment, without its " * ".
function add(line,    is_kept) {
	is_kept = line ~ /^  +[^ ]/ && !is_behind
	if (is_kept != in_block && (is_kept || line !~ /^ *$/)) {
		out = out (is_kept ? " @verbatim" : " @endverbatim") "\n"
		extra++
		in_block = is_kept
	}
	out = out (in_block ? line : text(line)) "\n"
}
function begin(line) {
	out = ""
	in_block = 0
	add(line)
}
function end(opening) {
	if (in_block)
		out = out " @endverbatim\n"
	in_block = 0
	sub(/\n$/, "", out)
	print opening " " out " */"
}
BEGIN { first = 1 }
in_comment {
	line = $0
	is_last = sub(/[ \t]*\*\/.*/, "", line)
	sub(/^[ \t]*\*?/, "", line)
	sub(/^ /, is_behind ? "" : "", line)
	if (is_behind) sub(/^[ \t]+/, "", line)
	add(line)
	if (is_last) {
		in_comment = 0
		end(opening)
	}
	next
}
/\\$/ || /^[ \t]*\/\* -- .* -- \*\/$/ || !/\/\*/ { print; next }
{
	at = index($0, "/*")
	code = substr($0, 1, at - 1)
	line = substr($0, at + 2)
	sub(/^ /, "", line)
	is_behind = code ~ /[^ \t]/
	if (is_behind && line ~ /\*\/.*[^ \t]/) { print; next } # a comment in the middle of code
	opening = code (is_behind ? "/**<" : first ? "/** @file\n" : "/**")
	if (!is_behind) first = 0
	if (line ~ /\*\//) {
		sub(/[ \t]*\*\/.*/, "", line)
		begin(line)
		end(opening)
	} else {
		begin(line)
		in_comment = 1
	}
}
