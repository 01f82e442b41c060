#!/bin/sh
# A source tarball, the same bytes for the same files. usage: dist.sh DIRECTORY VERSION
#
# Of a checkout: the files that git tracks, as they are now, with the time of the last commit. Elsewhere, as in an unpacked tarball:
# all files but build*/ and __pycache__/, with the time of the newest. SOURCE_DATE_EPOCH overrides the time.
set -eu
export LC_ALL=C
out=$1 name=libuvmpolicy-$2
cd "$(dirname "$0")/../.."
mkdir -p "$out"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
if [ -e .git ]; then
	git ls-files >"$list"
	epoch=$(git log -1 --format=%ct)
	git diff --quiet HEAD || echo "dist.sh: changes that are not committed are in the tarball" >&2
else
	find . -type f ! -path './build*/*' ! -path '*/__pycache__/*' | sed 's,^\./,,' >"$list"
	epoch=$(tr '\n' '\0' <"$list" | xargs -0 stat -c %Y | sort -n | tail -n 1)
fi
epoch=${SOURCE_DATE_EPOCH:-$epoch}
sort -o "$list" "$list"
tar --create --file="$out/$name.tar" --no-recursion --files-from="$list" --format=ustar --owner=0 --group=0 --numeric-owner \
	--mode='u=rwX,go=rX' --mtime="@$epoch" --transform="s,^,$name/,"
gzip -9nf "$out/$name.tar"
echo "$out/$name.tar.gz"
