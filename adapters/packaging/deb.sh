#!/bin/sh
# Debian packages of the tarball of `make dist`, into DIRECTORY. usage: deb.sh DIRECTORY VERSION SOMAJOR [sources]
# `sources`: only the unpacked tarball with its debian/ is made.
# DEBFULLNAME and DEBEMAIL name the maintainer; DEB_BUILD_OPTIONS as for dpkg-buildpackage.
set -eu
export LC_ALL=C
version=$2 major=$3
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
source=$out/libuvmpolicy-$version
maintainer="${DEBFULLNAME:-The libuvmpolicy authors} <${DEBEMAIL:-authors@libuvmpolicy.invalid}>"

rm -rf "$source" "$out"/*.deb "$out"/*.dsc "$out"/*.tar.* "$out"/*.changes "$out"/*.buildinfo
sh "$here/dist.sh" "$out" "$version" >/dev/null
mv "$out/libuvmpolicy-$version.tar.gz" "$out/libuvmpolicy_$version.orig.tar.gz"
tar -C "$out" -xzf "$out/libuvmpolicy_$version.orig.tar.gz"
mkdir -p "$source/debian/source"
echo '3.0 (quilt)' >"$source/debian/source/format"
libraries="libuvmpolicy$major (= \${binary:Version})"
for name in host pager; do libraries="$libraries, libuvmpolicy-$name$major (= \${binary:Version})"; done
sed "s/@SOMAJOR@/$major/g; s/@MAINTAINER@/$maintainer/; s/@LIBRARIES@/$libraries/" "$here/debian/control.in" \
	>"$source/debian/control"
for file in "$here"/debian/*.install; do
	name=$(basename "$file")
	cp "$file" "$source/debian/$(echo "$name" | sed "s/SOMAJOR/$major/")"
done
cp "$here/debian/rules" "$here/debian/copyright" "$source/debian"
{
	printf 'libuvmpolicy (%s-1) unstable; urgency=medium\n\n  * See docs/CHANGELOG.md.\n\n' "$version"
	printf ' -- %s  %s\n' "$maintainer" "$(date -R -u -r "$source/Makefile")"
} >"$source/debian/changelog"
[ "${4:-}" != sources ] || exit 0
(cd "$source" && env -u MAKEFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u MFLAGS dpkg-buildpackage -us -uc)
if command -v lintian >/dev/null 2>&1; then
	lintian --fail-on error --tag-display-limit 0 "$out"/*.changes
else echo 'skipped: lintian is not installed'; fi
ls "$out"/*.deb
