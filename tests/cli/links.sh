#!/bin/sh
# Every relative link of the README and of docs/ leads to a file, and its anchor to a heading there.
# usage: links.sh [BUILD]; links.sh --installed DIRECTORY: the same of the documents that `make install` has put there
set -eu
of=. installed=
[ "${1:-}" != --installed ] || installed=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.."
links=$(mktemp)
trap 'rm -f "$links" "$links.out"' EXIT

# check ROOT: prints what is wrong under a folder that holds README.md and docs/.
check() {
	(
		cd "$1"
		for page in README.md docs/*.md docs/*/*.md; do
			[ -f "$page" ] || continue
			# Links outside of code: FILE<TAB>LINE<TAB>TARGET
			awk -v page="$page" '
				/^ *```/ { code = !code; next }
				code { next }
				{
					gsub(/`[^`]*`/, "")
					line = $0
					while (match(line, /\]\([^()]*(\([^()]*\)[^()]*)*\)/)) {
						target = substr(line, RSTART + 2, RLENGTH - 3)
						sub(/ ".*/, "", target)
						if (target !~ /^[a-z]+:/)
							print page "\t" FNR "\t" target
						line = substr(line, RSTART + RLENGTH)
					}
				}' "$page"
		done >"$links"
		while IFS='	' read -r page line target; do
			file=${target%%#*} anchor=
			case $target in *"#"*) anchor=${target#*#} ;; esac
			case $file in
			"") file=$page ;;
			*) file=$(dirname "$page")/$file ;;
			esac
			if [ ! -e "$file" ]; then
				echo "$page:$line: $target: no such file"
			elif [ -n "$anchor" ] && [ -f "$file" ]; then
				# As GitHub makes anchors: lower case, blanks to dashes, punctuation dropped.
				awk '/^ *```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); gsub(/`/, ""); print tolower($0) }' "$file" |
					sed 's/\[\([^]]*\)\]([^)]*)/\1/g; s/[^a-z0-9 _-]//g; s/ /-/g' >"$links.out"
				case $file in
				*.md) grep -qxF "$anchor" "$links.out" || echo "$page:$line: $target: no heading of this name in $file" ;;
				esac
			fi
		done <"$links"
	)
}

# The check itself sees a missing file and a missing heading.
probe=$(mktemp -d)
trap 'rm -rf "$links" "$links.out" "$probe"' EXIT
mkdir "$probe/docs"
# shellcheck disable=SC2016 # Markdown's quotes
printf '# A b\n[x](docs/a.md) [y](#a-b) `[c](no.md)`\n' >"$probe/README.md"
printf '# One\n\n![p](gone.svg) [x](../README.md#no-such) [y](../README.md#a-b)\n' >"$probe/docs/a.md"
expected='docs/a.md:3: gone.svg: no such file
docs/a.md:3: ../README.md#no-such: no heading of this name in docs/../README.md'
if [ "$(check "$probe")" != "$expected" ]; then
	echo 'FAILED: the check of links misses a broken one:'
	check "$probe"
	exit 1
fi

if [ -n "$installed" ]; then
	mkdir "$probe/tree"
	ln -s "$installed" "$probe/tree/docs"
	of=$probe/tree
fi
broken=$(check "$of")
if [ -n "$broken" ]; then
	printf 'FAILED: links that lead nowhere:\n%s\n' "$broken"
	exit 1
fi
echo "ok   $(wc -l <"$links") relative links of the documents lead somewhere"
