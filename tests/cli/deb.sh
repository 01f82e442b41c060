#!/bin/sh
# The sources of the Debian packages: names follow the version, and each file of make install is in one package. `make deb` builds
# the packages and runs lintian. usage: deb.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
version=$(sed -n 's/^VERSION := //p' Makefile)
major=$(sed -n 's/^SOMAJOR := //p' Makefile)
DEBFULLNAME='A Maintainer' DEBEMAIL=a@b.org sh adapters/packaging/deb.sh "$work/deb" "$version" "$major" sources >"$work/out" 2>&1
verdict $? 'the sources of the packages'
debian=$work/deb/libuvmpolicy-$version/debian
[ -s "$work/deb/libuvmpolicy_$version.orig.tar.gz" ] && [ -x "$debian/rules" ]
verdict $? 'they have the tarball of make dist, and rules'
! grep -rn '@[A-Z]\+@' "$debian" >"$work/out"
verdict $? 'no mark is left'
sed -n 's/^Package: //p' "$debian/control" | sort >"$work/packages"
for name in "libuvmpolicy$major" "libuvmpolicy-host$major" "libuvmpolicy-pager$major" libuvmpolicy-dev uvmpolicy-tools \
	uvmpolicy-doc; do
	grep -qx "$name" "$work/packages" && [ -s "$debian/$name.install" ]
	verdict $? "package $name"
done
ls "$debian"/*.install | sed 's,.*/,,; s,\.install$,,' | sort | diff "$work/packages" - >"$work/out"
verdict $? 'each package has a list of files'
grep -qx 'Maintainer: A Maintainer <a@b.org>' "$debian/control" && grep -q '^ -- A Maintainer <a@b.org>  ' "$debian/changelog"
verdict $? 'DEBFULLNAME and DEBEMAIL name the maintainer'
if command -v dpkg-parsechangelog >/dev/null 2>&1; then
	[ "$(dpkg-parsechangelog -l "$debian/changelog" -S Version 2>"$work/out")" = "$version-1" ] && [ ! -s "$work/out" ]
	verdict $? "the changelog has version $version-1"
else echo 'skipped: dpkg-parsechangelog is not installed: the syntax of the changelog'; fi

# Where the package of a library is, there its soname is; each file is in one package.
$MAKE -s install BUILD="$build" DESTDIR="$work/stage" PREFIX=/usr DOCDIR=/usr/share/doc/uvmpolicy-doc >"$work/out" 2>&1
verdict $? 'make install'
mkdir "$work/some" && mv "$work/stage/usr/lib" "$work/some/multiarch" && mkdir "$work/stage/usr/lib" &&
	mv "$work/some/multiarch" "$work/stage/usr/lib"
mkdir "$work/stage/usr/lib/multiarch/uvmpolicy" &&
	mv "$work/stage/usr/lib/multiarch/libuvmp-preload.so" "$work/stage/usr/lib/multiarch/uvmpolicy" # as PRELOADDIR says
rm -f "$work/stage/usr/share/doc/uvmpolicy-doc/LICENSE"
for list in "$debian"/*.install; do
	while read -r pattern; do
		files=0
		for found in "$work"/stage/$pattern; do
			[ -e "$found" ] || continue
			find "$found" ! -type d
			files=1
		done
		[ $files = 1 ] || echo "${list##*/}: $pattern" >>"$work/empty"
	done <"$list"
done | sort >"$work/packed"
[ ! -s "$work/empty" ]
verdict $? 'each line of the lists names files'
find "$work/stage" ! -type d | sort | diff - "$work/packed" >"$work/out" && [ "$(wc -l <"$work/packed")" -gt 100 ]
verdict $? "each file of make install is in one package ($(wc -l <"$work/packed"))"
for package in $(grep "[a-z]$major\$" "$work/packages"); do
	library=$(sed 's,.*/,,; s/\*$//' "$debian/$package.install" | tr -d '\n')
	[ "${library%.so.}$major" = "$package" ] && [ -e "$work/stage/usr/lib/multiarch/$library$major" ]
	verdict $? "package $package holds $library$major"
done
exit $failed
