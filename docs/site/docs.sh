#!/bin/sh
# The documentation as a site: the pages of docs/ by Sphinx, and the reference of the API by Doxygen. Warnings are errors.
# usage: docs.sh BUILD VERSION: into BUILD/docs
set -eu
build=$1 version=$2
here=$(dirname "$0")
rm -rf "$build/docs" "$build/docs-work"
mkdir -p "$build/docs-work/extra"
# Drawings have a source; what code hosts show is its picture, kept beside it. Places and sizes depend on the fonts of this machine:
# all else must be equal.
content() { sed -E 's/ (d|points|x|y|width|height|viewBox|transform)="[^"]*"//g' "$@"; }
for source in docs/pictures/*.dot; do
	picture=${source%.dot}.svg
	content "$picture" >"$build/docs-work/picture"
	dot -Tsvg "$source" | content | cmp -s - "$build/docs-work/picture" || {
		echo "docs: $picture is not that of $source; run: dot -Tsvg $source -o $picture" >&2
		exit 1
	}
done
{
	cat "$here/Doxyfile"
	echo "PROJECT_NUMBER = $version"
	echo "INPUT = docs/site/api.dox include/uvmpolicy adapters/common/uvmpolicy/host.h" \
		"adapters/userspace/pager.h adapters/userspace/store.h"
	echo "OUTPUT_DIRECTORY = $build/docs-work/extra"
} >"$build/docs-work/Doxyfile"
doxygen "$build/docs-work/Doxyfile"
UVMP_VERSION=$version UVMP_API=$(cd "$build/docs-work/extra" && pwd) PYTHONDONTWRITEBYTECODE=1 \
	sphinx-build -q -W --keep-going -j auto -d "$build/docs-work/doctrees" -c "$here" docs "$build/docs"
rm -rf "$build/docs-work"
# Debian's style sheet of the theme imports another package's from the root of a web server: style.css has what is needed of it.
# The theme loads its script as a plain script, although the script imports a module: both files are joined.
sed -i '/^@import url(\/javascript\//d' "$build/docs/_static/styles/furo.css"
scripts=$build/docs/_static/scripts
if grep -q '^import Gumshoe' "$scripts/furo.js"; then
	{ cat "$scripts/gumshoe-patched.js" && sed '/^import /d' "$scripts/furo.js"; } >"$scripts/one.js"
	mv "$scripts/one.js" "$scripts/furo.js"
	rm "$scripts/gumshoe-patched.js"
fi
/usr/bin/python3 "$here/check.py" "$build/docs"
echo "$build/docs/index.html"
