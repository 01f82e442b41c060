#!/bin/sh
# The site of the documentation, without its generator: the navigation has every page once, the index and the gallery miss
# nothing, CITATION.cff is valid and says the version, the commands that make figures name figures, and the quick ones work;
# the filter for Doxygen changes no code. usage: site.sh BUILD
set -u
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/cli/support/verdict.sh

# -- pages ------------------------------------------------------------------------------------------------------------------
ls docs/*.md | sed 's|docs/||; s|\.md$||' | grep -vx index | sort >"$work/pages"
grep -v '^#' docs/site/navigation.txt | sort >"$work/listed"
{
	comm -23 "$work/pages" "$work/listed" | sed 's/.*/docs\/&.md is not in docs\/site\/navigation.txt/'
	comm -13 "$work/pages" "$work/listed" | sed 's/^/docs\/site\/navigation.txt, no such page or twice: /'
} >"$work/log"
no_lines "the navigation has every page once ($(wc -l <"$work/pages"))" "$work/log"
while read -r page; do
	grep -qF "($page.md" docs/index.md || echo "docs/index.md has no link to $page.md"
done <"$work/pages" >"$work/log"
no_lines 'the index has every page' "$work/log"
find docs -name '*.svg' -o -name '*.png' | sed 's|docs/||' | sort >"$work/pictures"
while read -r picture; do
	grep -qF "]($picture)" docs/gallery.md || echo "docs/gallery.md does not show $picture"
done <"$work/pictures" >"$work/log"
no_lines "the gallery has every picture ($(wc -l <"$work/pictures"))" "$work/log"
for source in docs/pictures/*.dot; do [ -f "${source%.dot}.svg" ] || echo "$source has no picture beside it"; done >"$work/log"
no_lines 'every drawing has its picture' "$work/log"

# -- citation ---------------------------------------------------------------------------------------------------------------
version=$(sed -n 's/^VERSION := //p' Makefile)
{
	grep -qx "version: $version" docs/CITATION.cff || echo "docs/CITATION.cff: not version $version"
	sed -n 's/^Copyright (c) [0-9]* //p' LICENSE >"$work/owner"
	grep -qi "name: $(cat "$work/owner")\$" docs/CITATION.cff || echo "docs/CITATION.cff: the authors are not those of LICENSE"
	[ "$(head -n 1 LICENSE)" = 'MIT License' ] && grep -qx 'license: MIT' docs/CITATION.cff ||
		echo "docs/CITATION.cff: not the licence of LICENSE"
} >"$work/log"
no_lines 'CITATION.cff: version, authors and licence' "$work/log"
python=
for p in python3 /usr/bin/python3; do $p -c 'import yaml' 2>/dev/null && python=$p && break; done
if [ -n "$python" ]; then
	$python - docs/CITATION.cff >"$work/log" 2>&1 <<'PY'
import sys
import yaml

KNOWN = set("abstract authors cff-version commit contact date-released doi identifiers keywords license license-url message "
            "preferred-citation references repository repository-artifact repository-code title type url version".split())
cff = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
for key in ("cff-version", "message", "title", "authors"):
    if not cff.get(key):
        print(f"{key} is missing")
for key in set(cff) - KNOWN:
    print(f"{key}: not a key of CFF 1.2.0")
if cff.get("cff-version") != "1.2.0" or cff.get("type") not in ("software", "dataset"):
    print("cff-version is not 1.2.0, or the type is unknown")
for key in ("version", "title", "abstract", "message", "license"):
    if not isinstance(cff.get(key), str):
        print(f"{key}: not a text")
for author in cff.get("authors", []):
    if not isinstance(author, dict) or not ("name" in author or "family-names" in author):
        print(f"an author without a name: {author}")
if not all(isinstance(word, str) for word in cff.get("keywords", [])):
    print("keywords: not texts")
PY
	no_lines 'CITATION.cff is valid CFF 1.2.0' "$work/log"
else
	echo 'skipped: no python3-yaml, CITATION.cff as YAML'
fi

# -- figures ----------------------------------------------------------------------------------------------------------------
sed -n 's/^figure \([^ ]*\) .*/\1/p' tests/fidelity/figures.txt >"$work/figures"
grep -ohE 'FIGURE=[a-z0-9-]+' README.md docs/*.md | sed 's/FIGURE=//' | sort -u | while read -r name; do
	grep -qxF -e "$name" "$work/figures" || echo "make figure FIGURE=$name: no such figure"
done >"$work/log"
no_lines "the documents name figures that exist ($(wc -l <"$work/figures") exist)" "$work/log"
grep -oE "FIDELITY='[^']*'" docs/reproduce.md | sed "s/FIDELITY='\(.*\), \(.*\)'/\1	\2/" | while IFS='	' read -r heading label; do
	awk -v heading="## $heading" -v label="| $label" '
		/^## / {on = $0 == heading}
		on && /^row / && index($0, label) {n++}
		END {exit !n}' \
		tests/fidelity/rows.txt || echo "no row has the heading $heading and a label that begins with $label"
done >"$work/log"
[ "$(grep -c "FIDELITY='" docs/reproduce.md)" -ge 3 ] || echo 'docs/reproduce.md: its commands are not understood' >>"$work/log"
no_lines 'the commands of docs/reproduce.md name rows that exist' "$work/log"
for name in ag-fig4 ag-fig7-regular; do
	sh tests/fidelity/figure.sh "$build/uvmsim" "$work" $name >"$work/out" 2>&1 &&
		grep -qx "equal to docs/fidelity/$name.csv" "$work/out" &&
		: >"$work/log" || cp "$work/out" "$work/log"
	no_lines "make figure FIGURE=$name: the data of docs/fidelity" "$work/log"
done
sh tests/fidelity/figure.sh "$build/uvmsim" "$work" ag-fig44 >"$work/out" 2>"$work/err"
status=$?
[ $status = 2 ] && grep -q '^figure: no figure is named ag-fig44; the nearest are: ag-fig4' "$work/err" && : >"$work/log" ||
	cp "$work/err" "$work/log"
no_lines 'a figure that does not exist: the nearest are named' "$work/log"

# -- the reference of the API -------------------------------------------------------------------------------------------------
# Without its comments, a header is the same behind the filter.
code() { ${CC:-cc} -fpreprocessed -dD -E -P -w -xc - | tr -d ' \t\n'; }
headers=0
: >"$work/log"
for header in include/uvmpolicy/*.h adapters/common/uvmpolicy/host.h adapters/userspace/pager.h adapters/userspace/store.h; do
	headers=$((headers + 1))
	awk -f docs/site/filter.awk "$header" >"$work/filtered"
	[ "$(code <"$header")" = "$(code <"$work/filtered")" ] || echo "$header: the filter changes code" >>"$work/log"
	grep -q '^/\*\* @file' "$work/filtered" || echo "$header: no comment of the file" >>"$work/log"
done
no_lines "the filter for Doxygen changes no code of $headers headers" "$work/log"
exit $failed
