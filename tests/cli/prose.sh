#!/bin/sh
# Documents and comments keep to the style: at most 100 columns, paragraphs and items of lists of at most six lines, terms in the
# glossary, plain words. usage: prose.sh
#
# Tables, code, generated pages and what cannot be broken (a long link) may be wider.
set -eu
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Prints lines of more than 100 characters that could be broken: page:line: length.
wide() { # PAGE...
	LC_ALL=C awk '
		FNR == 1 { code = 0 }
		/^ *```/ { code = !code }
		code || /^ *\|/ || /^    / || /^[ \t]*</ { next }
		{
			text = $0
			gsub(/[\200-\277]/, "", text) # the bytes after the first one of a character
			if (length(text) <= 100) next
			sub(/^ *([-*+]|[0-9]+\.)? */, "", text)
			gsub(/`[^`]*`/, "x", text)
			gsub(/\]\([^)]*\)/, "x", text)
			gsub(/\[[^]]*/, "x", text)
			if (text ~ / /) print FILENAME ":" FNR ": " length($0) " columns"
		}' "$@"
}

# Prints paragraphs of more than six lines, also in items of lists, tables and code aside: page:line.
long_paragraphs() { # PAGE...
	awk '
		FNR == 1 { is_code = is_list = lines = 0 }
		/^ *```/ { is_code = !is_code; lines = 0; next }
		is_code || /^ *\|/ || /^([#<$]|!\[)/ || NF == 0 { lines = 0; next }
		/^ *([-*+]|[0-9]+\.) / { is_list = lines = 1; next }
		/^ / && (!is_list || lines == 0 && /^    /) { lines = 0; next } # code
		/^[^ ]/ && lines == 0 { is_list = 0 }
		++lines == 7 { print FILENAME ":" FNR - 6 ": more than six lines" }' "$@"
}

# Words that have a plainer one, in pages and in sources.
replaced='whoever|nobody|somebody|everybody|those who|shall|any more|anew|whatever|for want of|tells of|of its own accord'
replaced="$replaced|afar|for ever|unasked|thereby|rooms|room by room|hull|what comes|what leaves|what goes|comes? along|came along"

# Prints such words in pages: page:line: text.
old_words() { # PAGE...
	grep -nHiwE "$replaced" "$@" | cut -c1-140 || :
}

# Prints such words in sources and scripts but this one: file:line: text.
old_words_in_sources() { # FOLDER...
	grep -rnHiwE --include='*.[ch]' --include='*.sh' --include='*.awk' --include='*.py' --exclude=prose.sh "$replaced" "$@" |
		cut -c1-140 || :
}

# The terms that need no explanation in comments, each a heading of the glossary.
terms='far fault
fault buffer
GET and PUT
uTLB
fault batch
coalesce
duplicate
replay
flush
VABlock
big page
root chunk
residency
preferred location
accessed-by
read duplication
thrashing
throttle
pin
prefetch
eviction
refault
working set
over-subscription
access counter
basic block
TBNp
TBNe'

# The checks see what they are for.
long='word word word word word word word word word word word word word word word word word word word word word'
printf '%s\n%s\n' "$long" "| $long |" > "$tmp/a.md"
printf '```\n%s\n```\n- [`x`](%s)\nNobody waits.\n' "$long" "$(echo "$long" | tr ' ' -)" > "$tmp/b.md"
{
	printf '1\n2\n3\n4\n5\n6\n\n- 1\n  2\n  3\n  4\n  5\n  6\n  7\n\n'
	printf '1\n2\n3\n4\n5\n6\n7\n8\n\n    1\n    2\n    3\n    4\n    5\n    6\n    7\n'
	printf -- '- 1\n  2\n  3\n  4\n  5\n  6\n- 1\n\n  1\n  2\n  3\n  4\n  5\n  6\n  7\n\n'
	printf '    1\n    2\n    3\n    4\n    5\n    6\n    7\n'
} > "$tmp/paragraphs.md"
seen=$(cd "$tmp" && wide a.md b.md && long_paragraphs a.md b.md paragraphs.md && old_words a.md b.md)
expected='a.md:1: 104 columns
paragraphs.md:8: more than six lines
paragraphs.md:16: more than six lines
paragraphs.md:40: more than six lines
b.md:5:Nobody waits.'
if [ "$seen" != "$expected" ]; then
	printf 'FAILED: the checks of prose print:\n%s\nexpected:\n%s\n' "$seen" "$expected"
	exit 1
fi

mkdir "$tmp/sources"
printf '/* Whoever waits\n * shall wait. */\nint whoever_waits;\n' > "$tmp/sources/a.c"
echo '# What comes is not kept any more' > "$tmp/sources/b.sh"
echo 'Nobody, rooms' > "$tmp/sources/a.txt"
seen=$(cd "$tmp" && old_words_in_sources sources | sort)
expected='sources/a.c:1:/* Whoever waits
sources/a.c:2: * shall wait. */
sources/b.sh:1:# What comes is not kept any more'
if [ "$seen" != "$expected" ]; then
	printf 'FAILED: the check of sources prints:\n%s\nexpected:\n%s\n' "$seen" "$expected"
	exit 1
fi

# Prints source files that a page names in backquotes and that do not exist.
files_named() { # PAGE NAMES: NAMES lists the names of all files
	grep -oE '`[a-z0-9_]+\.[ch]`' "$1" | tr -d '`' | sort -u | grep -vxF -f "$2" || :
}
echo '`a.c` and `b.h`, `c.c` too' > "$tmp/c.md"
printf 'a.c\nb.h\n' > "$tmp/names"
[ "$(files_named "$tmp/c.md" "$tmp/names")" = c.c ] || { echo 'FAILED: the check of file names misses one'; exit 1; }

failed=0
pages=$(find README.md docs -name '*.md' | grep -vE '^docs/(fidelity|policies-results|policies-results-large)\.md$' | sort)
# shellcheck disable=SC2086 # a list of names without blanks
wide $pages > "$tmp/wide"
if [ -s "$tmp/wide" ]; then
	echo 'FAILED: lines of more than 100 columns:'
	cat "$tmp/wide"
	failed=1
else
	echo "ok   $(echo "$pages" | wc -l) pages have at most 100 columns outside of tables and code"
fi

# shellcheck disable=SC2086
long_paragraphs $pages > "$tmp/long"
if [ -s "$tmp/long" ]; then
	echo 'FAILED: paragraphs, or items of lists:'
	cat "$tmp/long"
	failed=1
else
	echo 'ok   no paragraph and no item of a list has more than six lines'
fi

echo "$terms" | while read -r term; do
	grep -qxF "### $term" docs/glossary.md || echo "$term"
done > "$tmp/terms"
if [ -s "$tmp/terms" ]; then
	echo 'FAILED: terms without a heading in docs/glossary.md:'
	cat "$tmp/terms"
	failed=1
else
	echo "ok   the glossary has the $(echo "$terms" | wc -l) terms that need no explanation in comments"
fi

find include libuvmpolicy adapters tests -name '*.[ch]' | sed 's,.*/,,' | sort -u > "$tmp/names"
files_named docs/architecture.md "$tmp/names" > "$tmp/gone"
for file in libuvmpolicy/engine/*.c libuvmpolicy/decisions/*.c libuvmpolicy/base/*.c libuvmpolicy/policy/*.c; do
	grep -qF "\`${file##*/}\`" docs/architecture.md || echo "$file is not named"
done >> "$tmp/gone"
if [ -s "$tmp/gone" ]; then
	echo 'FAILED: docs/architecture.md names files that do not exist, or leaves files out:'
	cat "$tmp/gone"
	failed=1
else
	echo 'ok   the files that docs/architecture.md names exist, and it names every file of the core but the tables'"' entries"
fi

# shellcheck disable=SC2086
old_words $pages docs/*.[1-9] > "$tmp/words"
if [ -s "$tmp/words" ]; then
	echo 'FAILED: words that have a plainer one:'
	cat "$tmp/words"
	failed=1
else
	echo 'ok   the pages use none of the words that have a plainer one'
fi

old_words_in_sources include libuvmpolicy adapters tests fuzz docs/examples > "$tmp/words"
if [ -s "$tmp/words" ]; then
	echo 'FAILED: words in sources that have a plainer one:'
	cat "$tmp/words"
	failed=1
else
	echo 'ok   sources, tests and examples use none of the words that have a plainer one'
fi
exit $failed
