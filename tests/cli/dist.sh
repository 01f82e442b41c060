#!/bin/sh
# make dist: all files of the repository, none else, the same bytes twice, in another directory, under another umask, and from the
# unpacked tarball, where make finds all that it needs. usage: dist.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
version=$(sed -n 's/^VERSION := //p' Makefile)
name=libuvmpolicy-$version

$MAKE -s dist BUILD="$work/first" >"$work/out" 2>&1
verdict $? 'make dist'
tarball=$work/first/$name.tar.gz
[ -s "$tarball" ]
verdict $? "it writes $name.tar.gz ($(wc -c <"$tarball") bytes)"
[ -s "$tarball" ] || exit 1
mkdir "$work/unpacked"
tar -C "$work/unpacked" -xzf "$tarball" >"$work/out" 2>&1
[ "$(ls -A "$work/unpacked")" = "$name" ]
verdict $? "it unpacks into $name/"
find . \( -name .git -o -path './build*' -o -name __pycache__ \) -prune -o -type f -print | sort >"$work/here"
(cd "$work/unpacked/$name" && find . -type f | sort) >"$work/there"
if [ -e .git ]; then git ls-files | sed 's,^,./,' | sort >"$work/here"; fi
diff "$work/here" "$work/there" >"$work/out" && [ "$(wc -l <"$work/there")" -gt 1000 ]
verdict $? "it has each file, and no others ($(wc -l <"$work/there"))"
while read -r file; do
	cmp "$file" "$work/unpacked/$name/$file"
	[ ! -x "$file" ] || [ -x "$work/unpacked/$name/$file" ] || echo "$file is not executable"
done <"$work/there" >"$work/out" 2>&1
[ ! -s "$work/out" ]
verdict $? 'its files are those here'
tar -tvzf "$tarball" | awk '
	$2 != "0/0" || ($1 != "-rw-r--r--" && $1 != "-rwxr-xr-x") || $4 " " $5 != first && first != "" { print }
	{ first = $4 " " $5 }' >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'its files have one time, one owner and two modes'

(umask 077 && cd "$work/unpacked/$name" && find . -type f -exec chmod go= {} + && $MAKE -s dist) >"$work/out" 2>&1
cmp "$tarball" "$work/unpacked/$name/build/$name.tar.gz" >>"$work/out" 2>&1
verdict $? 'the same bytes from the unpacked tarball, without git, under another umask'
(cd "$work/unpacked/$name" && echo >>LICENSE && $MAKE -s dist) >"$work/out" 2>&1
! cmp -s "$tarball" "$work/unpacked/$name/build/$name.tar.gz"
verdict $? 'other bytes with another file'
(cd "$work/unpacked/$name" && $MAKE -n all test-quick-run) >"$work/commands" 2>"$work/out" &&
	[ "$(grep -c ' -c ' "$work/commands")" -gt 300 ]
verdict $? 'make all and make test-quick find their sources there'
exit $failed
