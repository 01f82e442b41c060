#!/bin/sh
# The manual pages docs/*.1, *.3, *.7: mandoc has no warning, pages that a page names exist, the parts that come from the library
# are current, synopses are those of the headers, and examples compile and run. usage: manuals.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
pages=$(echo docs/*.[1-9])

if command -v mandoc >/dev/null 2>&1; then
	for page in $pages; do
		mandoc -T lint -W warning "$page" >"$work/out" 2>&1
		verdict $? "$page: mandoc has no warning"
	done
	sed 's/^\.El$//' docs/uvmpolicy.3 >"$work/wrong.3"
	! mandoc -T lint -W warning "$work/wrong.3" >/dev/null 2>&1
	verdict $? 'mandoc sees a list without an end'
else echo 'skipped: mandoc is not installed: the syntax of the manual pages'; fi

for page in $pages; do
	sed -n 's/^\.Xr \([^ ]*\) \([1-9]\).*/\1.\2/p' "$page" | sort -u | while read -r other; do
		[ -f "docs/$other" ] || echo "$page names $other, which does not exist"
	done
	name=$(basename "$page" | sed 's/\.[1-9]$//')
	grep -qx ".Nm $name" "$page" || echo "$page does not begin with its name"
	[ "$(sed -n 's/^\.Dt //p' "$page")" = "$(echo "$name" | tr a-z A-Z) ${page##*.}" ] || echo "$page has another title"
done >"$work/out"
[ ! -s "$work/out" ]
verdict $? "$(echo "$pages" | wc -w) pages name each other rightly"

# The parts that come from the library.
cp -r docs "$work"
tables() { sh tests/policies/man_tables.sh "$build/san/uvmsim" "$1" >"$work/out" 2>&1; }
tables "$work/docs"
verdict $? 'make policy-tables: the marks are found'
for page in $pages; do diff "$page" "$work/$page"; done >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'make policy-tables: keys, presets, functions and errors are current'
[ "$(grep -c '^\.It Cm ' docs/uvmpolicy-policy.7)" -gt 90 ] && [ "$(grep -c '^\.Fn ' docs/uvmpolicy.3)" -gt 250 ] &&
	[ "$(grep -c '^\.It Dv' docs/uvmpolicy.3)" -ge 11 ]
verdict $? 'make policy-tables: they are not empty'
for edit in 's/^Default: 51\./Default: 50./ docs/uvmpolicy-policy.7' '/^\.It\ Cm\ cppe$/d docs/uvmpolicy-policy.7' \
	'/uvmp_service_touch/d docs/uvmpolicy.3' '/uvmp_host_fault_on/d docs/uvmp_host.3'; do
	page=${edit##* }
	sed "${edit% *}" "$page" >"$work/$page"
	cp "$work/$page" "$work/wrong"
	tables "$work/docs"
	! cmp -s "$work/wrong" "$work/$page" && cmp -s "$page" "$work/$page"
	verdict $? "make policy-tables: a wrong part is noticed: $edit"
done
sed '/keys: end/d' docs/uvmpolicy-policy.7 >"$work/docs/uvmpolicy-policy.7"
! tables "$work/docs"
verdict $? 'make policy-tables: a mark that is missing is an error'

# The options of each subcommand of uvmsim: help, manual page and the head of uvmsim.md name the same ones. `compare` and `plot`
# take the options of `run`; the page refers to them, and to the help of `import`.
options() { grep -oE -- '--[a-z][a-z-]*' | sort -u; }
in_help() { "$build/uvmsim" help "$1" | grep -E '^  --|^ *(usage|uvmsim)|^   *\[' | options; }
in_manual() {
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' docs/uvmsim.1 |
		awk -v name="$1" '$1 == ".Nm" {inside = 0} $1 == ".Cm" && $2 == name && NF == 2 {inside = 1} inside' |
		grep -oE 'Fl -[a-z-]+' | sed 's/Fl -/--/' | sort -u
}
in_page() { sed -n '/^    uvmsim run/,/^$/p' "$2" | awk -v name="$1" '/^    uvmsim /{inside = $2 == name} inside' | options; }
differs() { # PAGE
	for name in run trace whatif import bound curve sweep explain measured decide check list; do
		in_help $name >"$work/help"
		[ $name = run ] || in_manual $name | diff "$work/help" - | sed -n "s/^[<>]/$name, the manual page:/p"
		[ $name = import ] || in_page $name "$1" | diff "$work/help" - | sed -n "s/^[<>]/$name, uvmsim.md:/p"
	done
	for name in compare plot; do
		{ in_help run; in_help $name; } | sort -u >"$work/help"
		{ in_manual $name; in_page $name "$1"; } | sort -u | comm -23 - "$work/help" | sed "s/^/$name: /"
	done
}
differs docs/uvmsim.md >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'uvmsim: help, manual page and uvmsim.md have the same options'
sed 's/ \[--brief\] / /; s/--kind/--king/' docs/uvmsim.md >"$work/wrong.md"
[ "$(differs "$work/wrong.md" | xargs)" = 'measured, uvmsim.md: --brief plot: --king' ]
verdict $? 'uvmsim: an option that is missing or wrong is noticed'

# Each synopsis, as declarations behind its headers; each example, as a program.
mkdir -p "$work/include/uvmpolicy"
cp include/uvmpolicy/*.h adapters/common/uvmpolicy/*.h "$work/include/uvmpolicy"
for page in docs/*.3; do
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | awk '
		/^\.In / { print "#include <" $2 ">" }
		/^\.Ft / { sub(/^\.Ft /, ""); type = $0 }
		/^\.Fn / {
			sub(/^\.Fn /, ""); name = $1; sub(/^[^ ]* /, "")
			gsub(/" "/, ", "); gsub(/"/, "")
			print type " " name "(" $0 ");"
		}' >"$work/synopsis.c"
	$CC -std=c11 -Wall -Wextra -Werror -I"$work/include" -fsyntax-only "$work/synopsis.c" >"$work/out" 2>&1 &&
		[ "$(grep -c ';$' "$work/synopsis.c")" -ge 6 ]
	verdict $? "$page: the synopsis is that of the headers ($(grep -c ';$' "$work/synopsis.c") functions)"
	sed -n '/^\.Bd -literal/,/^\.Ed/p' "$page" | sed '/^\.[BE]d/d; s/\\e/\\/g' >"$work/example.c"
	case $page in *host*) library=$build/libuvmpolicy-host.a ;; *) library=$build/libuvmpolicy.a ;; esac
	[ -f "$library" ] || continue
	$CC -std=c11 -Wall -Wextra -Werror -I"$work/include" "$work/example.c" "$library" -o "$work/example" >"$work/out" 2>&1 &&
		"$work/example" >"$work/printed" 2>"$work/out" && [ -s "$work/printed" ]
	verdict $? "$page: the example compiles and runs"
	cp "$work/printed" "$work/printed_$(basename "$page")"
done
"$work/example" threshold=101 >/dev/null 2>&1 # the last is that of uvmpolicy.3
[ $? = 2 ] && grep -q '^prefetch=density threshold=51 ' "$work/printed_uvmpolicy.3"
verdict $? 'docs/uvmpolicy.3: the example prints the default policy, and refuses a wrong one'
exit $failed
