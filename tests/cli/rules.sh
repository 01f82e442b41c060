#!/bin/sh
# Citations [driver: NAME] and [uvmsmart: NAME] lead to rules of docs/. usage: rules.sh
#
# Every NAME is a heading of docs/driver-rules.md or docs/uvmsmart-rules.md. Every rule has an example, and names a header and a
# test that exist, unless it stands in the chapter "Outside of the library". Nothing cites a rule by a number.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Prints the rules of a page, with what they lack: name<TAB>complaint.
# A rule is a heading of level 3, its chapter one of level 2.
rules_of() { # PAGE FILES: FILES lists the names of all headers and tests
	awk -v list="$2" '
		BEGIN { while ((getline line < list) > 0) exists[line] = 1 }
		function close_rule() {
			if (name == "") return
			if (name !~ /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/) print name "\tis no name of lower-case words and dashes"
			if (seen[name]++) print name "\tis defined twice"
			if (!outside && !example) print name "\thas no example"
			if (!outside && !header) print name "\tnames no header"
			if (!outside && !test) print name "\tnames no test"
			print name "\t"
			name = ""
		}
		/^## / { close_rule(); outside = $0 == "## Outside of the library"; next }
		/^### / { close_rule(); name = substr($0, 5); example = header = test = holding = 0; next }
		/^Example: / { example = 1 }
		/^Held by: / { holding = 1 }
		/^$/ { holding = 0 }
		holding {
			line = $0
			while (match(line, /`[^`]*`/)) {
				what = substr(line, RSTART + 1, RLENGTH - 2)
				line = substr(line, RSTART + RLENGTH)
				if (what ~ /\.h$/) header = 1; else test = 1
				if (!(what in exists) && !((what ".c") in exists)) print name "\tis held by " what ", which does not exist"
			}
		}
		END { close_rule() }' "$1"
}

# Prints the citations of files, one a line: file<TAB>kind<TAB>name. A citation may be broken at a blank.
citations_of() { # FILE...
	awk '
		function flush_file(    found, part, i, n, kind) {
			while (match(text, /\[(driver|uvmsmart):[ a-z0-9,-]*\]/)) {
				found = substr(text, RSTART + 1, RLENGTH - 2)
				text = substr(text, RSTART + RLENGTH)
				kind = found
				sub(/:.*/, "", kind)
				sub(/^[^:]*: */, "", found)
				n = split(found, part, / *, */)
				for (i = 1; i <= n; i++) print file "\t" kind "\t" part[i]
			}
			text = ""
		}
		FNR == 1 { flush_file(); file = FILENAME }
		{ line = $0; sub(/^[ \t]*(\*|#|\/\/)?[ \t]*/, "", line); text = text " " line }
		END { flush_file() }' "$@"
}

# Prints lines that cite a rule by a number of some text: file:line: text.
numbers_in() { # FILE...
	grep -nHE -e '(driver|UVM Smart|[Qq]uirks?) Q[0-9]+|[( ]Q[0-9]{1,2}[,:;.) ]' \
		-e '(uvm-smart|nvidia|[Ss]pecification),? (section )?[0-9]+(\.[0-9])?[^0-9%]' \
		-e '\([1-9]\.[0-9][,;:)]|/\* [1-9]\.[0-9][:, ]' "$@" || :
}

# Prints what is wrong in a folder that holds docs/ and the rest.
check() { # ROOT
	(
		cd "$1"
		find include libuvmpolicy adapters tests fuzz docs README.md -name '*.vec' -prune -o -type f \
			\( -name '*.[ch]' -o -name '*.md' -o -name '*.sh' -o -name '*.awk' -o -name '*.cpp' \) -print 2>/dev/null |
			grep -vE '^tests/cli/rules\.sh$|^docs/(driver|uvmsmart)-rules\.md$' | sort > "$tmp/files"
		find include adapters tests -name '*.[ch]' 2>/dev/null | sed 's,.*/,,' | sort -u > "$tmp/exist"
		for kind in driver uvmsmart; do
			rules_of docs/$kind-rules.md "$tmp/exist" > "$tmp/rules"
			awk -F '\t' -v page="docs/$kind-rules.md" '$2 != "" {print page ": " $1 " " $2}' "$tmp/rules"
			awk -F '\t' -v kind=$kind '$2 == "" {print kind "\t" $1}' "$tmp/rules"
		done > "$tmp/out"
		grep -v '	' "$tmp/out" || :
		grep '	' "$tmp/out" | sort -u > "$tmp/known"
		# shellcheck disable=SC2046 # a list of names without blanks
		citations_of $(cat "$tmp/files") > "$tmp/citations"
		awk -F '\t' 'NR == FNR {known[$1 "\t" $2] = 1; next}
			!(($2 "\t" $3) in known) {print $1 ": [" $2 ": " $3 "]: no such heading in docs/" $2 "-rules.md"}' "$tmp/known" "$tmp/citations"
		# Prose of pages cites papers by section; only their words are searched there.
		# shellcheck disable=SC2046
		numbers_in $(grep -vE '\.md$|^tests/(fidelity|policies)/|^tests/coverage|^tests/cli/' "$tmp/files") |
			sed 's/$/ (a rule cited by number)/'
		# shellcheck disable=SC2046
		grep -nHE '(driver|UVM Smart|[Qq]uirk) Q[0-9]+|\(Q[0-9]+[,;)]' $(grep -E '\.md$' "$tmp/files") |
			sed 's/$/ (a rule cited by number)/' || :
	)
}

# The check sees each kind of mistake.
probe=$tmp/probe
mkdir -p "$probe/docs" "$probe/include" "$probe/tests"
{
	printf '# P\n\n## A\n\n### one-rule\n\nText.\n\nExample: x.\n\nHeld by: `a.h`; `test_a`.\n\n### bare\n\nText.\n\n'
	printf '### Gone\n\nExample: y.\n\nHeld by: `b.h`;\n`test_a`.\n'
} > "$probe/docs/driver-rules.md"
printf '# P\n\n## Outside of the library\n\n### far\n\nText.\n' > "$probe/docs/uvmsmart-rules.md"
printf '/* a.h [driver: one-rule,\n * nothing] [uvmsmart: far] [uvmsmart: one-rule] (3.6) Q5: */\n' > "$probe/include/a.h"
echo '/* 4.5 as it was (driver Q7) */' > "$probe/tests/test_a.c"
printf 'As (Q3) says.\n' > "$probe/README.md"
expected='docs/driver-rules.md: bare has no example
docs/driver-rules.md: bare names no header
docs/driver-rules.md: bare names no test
docs/driver-rules.md: Gone is held by b.h, which does not exist
docs/driver-rules.md: Gone is no name of lower-case words and dashes
include/a.h: [driver: nothing]: no such heading in docs/driver-rules.md
include/a.h: [uvmsmart: one-rule]: no such heading in docs/uvmsmart-rules.md
include/a.h:2: * nothing] [uvmsmart: far] [uvmsmart: one-rule] (3.6) Q5: */ (a rule cited by number)
tests/test_a.c:1:/* 4.5 as it was (driver Q7) */ (a rule cited by number)
README.md:1:As (Q3) says. (a rule cited by number)'
seen=$(check "$probe")
if [ "$seen" != "$expected" ]; then
	printf 'FAILED: the check of citations misses a mistake. It printed:\n%s\nexpected:\n%s\n' "$seen" "$expected"
	exit 1
fi

wrong=$(check .)
if [ -n "$wrong" ]; then
	printf 'FAILED: rules and their citations:\n%s\n' "$wrong"
	exit 1
fi
echo "ok   $(wc -l < "$tmp/known") rules have an example, a header and a test; $(wc -l < "$tmp/citations") citations lead to one"
