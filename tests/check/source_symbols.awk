# Lists what one C file of the kernel module defines and needs, for cycles.awk: awk -v file=NAME -f source_symbols.awk FILE.
# The file is read as text, so that no headers of a kernel are needed.
#
# External names of the module begin with emu_, those of the core with uvmp_ or uvmpi_. A definition begins in column 1, without
# `static` and without a `;` at the end of its line: the sources have no prototypes. Every other mention of such a name is a need.
# What an inline function of a header needs is not seen: `make kernel-test` computes the same from the objects.

{
	line = $0
	gsub(/"([^"\\]|\\.)*"/, "", line)
	if (in_comment) {
		if (!(end = index(line, "*/"))) next
		line = substr(line, end + 2)
		in_comment = 0
	}
	while (start = index(line, "/*")) {
		rest = substr(line, start + 2)
		line = substr(line, 1, start - 1)
		if (!(end = index(rest, "*/"))) {
			in_comment = 1
			break
		}
		line = line " " substr(rest, end + 2)
	}
	if (line !~ /^#/) scan(line)
}

function scan(line,    is_definition, name, last, before) {
	is_definition = line ~ /^[a-z]/ && line !~ /^static / && line !~ /; *$/
	while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
		name = substr(line, RSTART, RLENGTH)
		before = substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		before = last before
		last = name
		if (name !~ /^(emu_|uvmpi?_)/ || before ~ /(^(struct|enum|union) +|->|\.)$/) continue
		if (is_definition && line ~ /^ *[([=]/) {
			if (!defined[name]++) print "defined " file " " name
			is_definition = 0
		} else if (!needed[name]++) {
			order[++needs] = name
		}
	}
}

END { for (i = 1; i <= needs; i++) if (!(order[i] in defined)) print "needed " file " " order[i] }
