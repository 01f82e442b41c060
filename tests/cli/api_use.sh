#!/bin/sh
# Each public function has a caller in the product, or a documented use by a host; and each has a test. Each fact of a
# decision is set by the engine or a host, or documented. usage: api_use.sh [INCLUDE]
#
# A caller: libuvmpolicy/, the adapters without the vectors and without the kernel's list of exports, docs/examples. Inside the
# library a call of uvmpi_NAME, the form without checks, counts as a call of uvmp_NAME.
# Documented: named in full in docs/embedding.md or docs/embedding-kernel.md. INCLUDE (default include/uvmpolicy): the headers.
set -u
export LC_ALL=C
include=$(cd "${1:-include/uvmpolicy}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/cli/support/verdict.sh
# The words of the code of files, comments left out; a definition starts in the first column and is left out too.
words() { awk '/^[\t]* \*|^\/\*/ {next} /^[ \t#.]/' "$@" | tr -c 'A-Za-z0-9_\n' ' ' | tr -s ' ' '\n' | sort -u; }

cat "$include"/*.h | tr '\n\t' '  ' | sed 's/UVMP_API/\n&/g' |
	sed -n 's/^UVMP_API[^;(]*[ *]\(uvmp_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$work/functions"
find libuvmpolicy adapters docs/examples -name '*.[ch]' | grep -v -e /vectors/ -e /exports.c >"$work/product"
words $(cat "$work/product") | sed 's/^uvmpi_/uvmp_/' | sort -u >"$work/called"
cat docs/embedding.md docs/embedding-kernel.md | tr -c 'A-Za-z0-9_\n' ' ' | tr -s ' ' '\n' | sort -u >"$work/documented"
find tests fuzz -name '*.[ch]*' >"$work/tests"
words $(cat "$work/tests") >"$work/tested"

sort -u "$work/called" "$work/documented" | comm -23 "$work/functions" - >"$work/unused"
[ "$(wc -l <"$work/functions")" -gt 100 ] || echo "the headers are not understood" >>"$work/unused"
no_lines "each public function has a caller or a documented use ($(wc -l <"$work/functions"))" "$work/unused"
comm -23 "$work/functions" "$work/tested" >"$work/untested"
no_lines "each public function is called by a test" "$work/untested"

# Fields of structures of facts: `.field =`, `->field =`, `&x.field` or a positional initialiser cannot be told apart
# from a read, so a field counts as set if a product file other than a decision's own names it after a dot or an arrow
# (processor.c: uvmp_processors_init).
awk '/^struct uvmp_[a-z_]*(facts|pressure|processors) [{]/ {on = 1; next} /^};/ {on = 0}
	/^[\t ]*\*/ {next}
	on {sub(/\/\*.*/, ""); sub(/^ .*\*\/.*/, ""); gsub(/\[[^]]*\]/, "")
	    if ($0 ~ /[a-z_]+(, [a-z_]+)*;/) {
		sub(/;.*/, ""); n = split($0, part, ",")
		for (i = 1; i <= n; i++) {sub(/.*[ *\t]/, "", part[i]); print part[i]}
	    }
	}' \
	"$include"/*.h | sort -u >"$work/facts"
grep -e /engine/ -e /processor.c -e ^adapters -e ^docs "$work/product" | xargs cat | grep -oE '(\.|->)[a-z_]+' | tr -d '.>-' |
	sort -u >"$work/set"
sort -u "$work/set" "$work/documented" | comm -23 "$work/facts" - >"$work/unset"
[ "$(wc -l <"$work/facts")" -gt 40 ] || echo "the facts are not understood" >>"$work/unset"
no_lines "each fact is set by the engine or a host, or documented ($(wc -l <"$work/facts"))" "$work/unset"

# Fields that hold an enumerator: the enum's type, but in a packed record an integer with a comment that begins with the
# enum. A field with the name of an enum, or a byte with the last word of one, holds
# its enumerator.
cat "$include"/*.h >"$work/headers"
awk 'FNR == NR {
		if (match($0, /^enum uvmp_[a-z_]+/)) {
			tag = substr($0, 6, RLENGTH - 5); is_enum[tag] = 1
			sub(/.*_/, "", tag); is_last[tag] = 1
		}
		next
	}
	/^\/\*/ {comment = ""} {comment = comment $0}
	/^struct uvmp_[a-z_]+ [{]/ {name = $2; packed = comment ~ /\/\* Packed record/; on = 1; next}
	/^}/ {on = 0; comment = ""; next}
	!on || /^[\t ]*(\*|\/\*)/ {next}
	{code = $0; sub(/\/\*.*/, "", code); said = ""
	 if (match($0, /(\/\*|:) enum uvmp_[a-z_]+/)) {said = substr($0, RSTART, RLENGTH); sub(/.*enum /, "", said)}
	 if (code !~ /;/) next
	 typed = code ~ /^[\t ]*enum /; count = split(code, field, /[ \t,;]+/); named = 0
	 for (i = 1; i <= count; i++)
		if ((("uvmp_" field[i]) in is_enum || code ~ /^[\t ]*u?int8_t / && field[i] in is_last) &&
		    code !~ /^[\t ]*(struct|bool|const)/) named = 1
	 if (typed || said || named) seen++
	 if (typed && packed) print FILENAME ": " name ": a packed record stores an enumerator in an integer:" code
	 if (typed && said) print FILENAME ": " name ": the type names the enum, the comment need not:" code
	 if (!typed && said && !packed) print FILENAME ": " name ": the type must be enum " said ":" code
	 if (said && !(said in is_enum)) print FILENAME ": " name ": no such enum: " said
	 if (named && !typed && !said) print FILENAME ": " name ": type or comment must name the enum:" code}
	END {if (seen < 40) print "the structures are not understood: " seen + 0 " fields with enumerators"}' \
	"$work/headers" "$include"/*.h >"$work/mixed" 2>&1
no_lines "fields that hold an enumerator are of one kind" "$work/mixed"

# Structures that may grow: the size comes first, and the basic set has some.
awk '/^struct uvmp_[a-z_]+ [{]/ {name = $2; at = 0; next} /^};/ {name = ""; next} name != "" && /;/ {at++}
	name != "" && /^\t(uint32_t|size_t) size;/ && /bytes|base\.h/ {
		sized++
		if (at != 1) print FILENAME ": " name ": size is not the first field"
	}
	END {if (sized < 8) print "only " sized + 0 " structures carry their size"}' "$include"/*.h >"$work/sizes"
no_lines "structures that may grow begin with their size" "$work/sizes"
awk '/^struct uvmp_[a-z_]+ [{]/ {name = $2; next} /^};/ {name = ""} name != "" && /^\t(uint32_t|size_t) size;/ {print name}' \
	"$include"/*.h adapters/common/uvmpolicy/host.h | sort -u >"$work/sized"
while read -r name; do
	grep -q "^| .*\`$name\`" docs/abi.md || echo "docs/abi.md does not name $name"
done <"$work/sized" >"$work/unnamed"
[ "$(wc -l <"$work/sized")" -gt 12 ] || echo "only $(wc -l <"$work/sized") structures carry their size" >>"$work/unnamed"
no_lines "docs/abi.md names the structures that carry their size ($(wc -l <"$work/sized"))" "$work/unnamed"

# The table of docs/embedding.md names a test for each function, and the function is in the test.
awk -F '[|]' '
	/^## Functions that only hosts call/ {on = 1}
	on && /^[|] `uvmp_/ {print $2 "|" $NF $(NF - 1)}
	on && /^## Facts/ {exit}' docs/embedding.md |
	tr -d '`, ' >"$work/rows"
while IFS='|' read -r function test; do
	grep -qw "$function" tests/unit/"$test".c tests/properties/"$test".c tests/check/"$test" 2>/dev/null ||
		echo "$function is not in $test"
done <"$work/rows" >"$work/wrong"
[ "$(wc -l <"$work/rows")" -gt 5 ] || echo "the table of docs/embedding.md is not understood" >>"$work/wrong"
no_lines "each function that only hosts call is in the test that docs/embedding.md names ($(wc -l <"$work/rows"))" "$work/wrong"
exit $failed
