#!/bin/sh
# The parts of the manual pages that come from the library, between lines `.\" NAME: begin` and `.\" NAME: end`: keys and presets
# in uvmpolicy-policy.7; functions and errors, from the headers, in uvmpolicy.3 and uvmp_host.3.
# usage: man_tables.sh UVMSIM DIRECTORY
set -eu
export LC_ALL=C
uvmsim=$1 pages=$2
here=$(dirname "$0")
top=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A page with what DIRECTORY/NAME holds, for each NAME, in place of the lines between the marks.
fill() { # PAGE DIRECTORY NAMES
	awk -v folder="$2" -v names="$3" '
		BEGIN { left = split(names, name, " ") }
		/^\.\\" [a-z]*: begin/ {
			is_wrong += is_old
			print
			file = $2
			sub(/:$/, "", file)
			while ((getline line <(folder "/" file)) > 0) print line
			close(folder "/" file)
			is_old = 1
			left--
		}
		/^\.\\" [a-z]*: end/ { is_old = 0 }
		!is_old && !/^\.\\" [a-z]*: begin/
		END {
			if (left || is_old || is_wrong) {
				print "man_tables.sh: " FILENAME ": marks of " names " are missing" >"/dev/stderr"
				exit 1
			}
		}
	' "$1" >"$work/page"
	cat "$work/page" >"$1"
}

"$uvmsim" list policies >"$work/list"
"$uvmsim" list presets >"$work/list_presets"
awk -v man=1 -f "$here/../cli/policies.awk" "$work/list" "$work/list_presets" >"$work/rows"
sed '/^$/,$d' "$work/rows" >"$work/keys"
sed '1,/^$/d' "$work/rows" >"$work/presets"
values() { # PATTERN of the line before the values, WORDS between name and summary
	awk -v start="$1" -v skip="$2" '
		/^[^ ]/ { is_on = $0 ~ start; next }
		is_on && NF {
			print ".It Cm " $1
			for (i = 0; i <= skip; i++) sub(/^ *[^ ]+ +/, "")
			print toupper(substr($0, 1, 1)) substr($0, 2) "."
		}' "$work/list"
}
values '^prefetchers:' 0 >"$work/prefetchers"
values '^eviction orders' 1 >"$work/orders"
fill "$pages/uvmpolicy-policy.7" "$work" 'keys prefetchers orders presets'

# The headers in the order of the tables in uvmpolicy.h and advanced.h, with their lines there.
sed -n 's/^ \*   \([a-z]*\.h\) *| \(.*\)/\1	\2/p' "$top/include/uvmpolicy/uvmpolicy.h" "$top/include/uvmpolicy/advanced.h" \
	>"$work/headers"
{
	echo '.Bl -tag -width indent'
	while IFS='	' read -r header summary; do
		echo ".It In uvmpolicy/$header"
		first=$(echo "$summary" | cut -c1 | tr a-z A-Z)
		echo "$first${summary#?}."
		tr '\n\t' '  ' <"$top/include/uvmpolicy/$header" | sed 's/UVMP_API/\
&/g; s/static inline/\
&/g' | sed -nE 's/^(UVMP_API|static inline)[^;({]*[ *](uvmp_[a-z0-9_]*)\(.*/\2/p' | awk '
			!seen[$0]++ { if (last != "") print ".Fn " last " ,"; last = $0 }
			END { if (last != "") print ".Fn " last }'
	done <"$work/headers"
	echo '.El'
} >"$work/functions"
awk '
	/^enum uvmp_status \{/ { is_on = 1; next }
	/^\};/ { is_on = 0 }
	is_on && match($0, /UVMP_ERR_[A-Z_]+/) {
		print ".It Dv " substr($0, RSTART, RLENGTH)
		sub(/.*\/\* */, "")
		$0 = toupper(substr($0, 1, 1)) substr($0, 2)
	}
	is_on && !/UVMP_OK/ {
		sub(/^[ \t]*\* /, "")
		print sub(/ *\*\/$/, "") ? $0 "." : $0
	}' "$top/include/uvmpolicy/base.h" >"$work/errors"
fill "$pages/uvmpolicy.3" "$work" 'functions errors'

# The prototypes of the host kit.
tr '\n\t' '  ' <"$top/adapters/common/uvmpolicy/host.h" | sed 's/UVMP_API/\
&/g' | sed -nE 's/^UVMP_API +([^;(]*[ *])(uvmp_[a-z0-9_]+)\(([^;]*)\);.*/\1	\2	\3/p' | awk -F '\t' '{
	gsub(/  +/, " ")
	sub(/ +$/, "", $1)
	print ".Ft " $1
	gsub(/, /, "\" \"", $3)
	print ".Fn " $2 " \"" $3 "\""
}' >"$work/host"
fill "$pages/uvmp_host.3" "$work" host
