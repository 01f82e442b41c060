#!/bin/sh
# make install and make uninstall: each directory where it was asked for, also the library directory of a multiarch system; from
# there uvmp-run finds its library, and a program is built by pkg-config; afterwards no file is left. Flags of the user reach
# every compiler and linker call; zstd's coming and going compiles little. usage: install.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
major=$(sed -n 's/^SOMAJOR := //p' Makefile)

# A copy of what is built, since uvmp-run knows the path to LIBDIR, and other tests run it meanwhile.
copy=$work/build
mkdir "$copy"
tar -C "$build" -cf - --exclude 'rel/tests' rel fast flags zstd_flags lib_flags link_flags models.inc | tar -C "$copy" -xf -
multiarch=$($CC -print-multiarch 2>/dev/null)
[ -n "$multiarch" ] || multiarch=some-linux-gnu
root=$work/root
put() {
	$MAKE -s "$@" BUILD="$copy" CC="$CC" DESTDIR="$root" \
		PREFIX=/usr LIBDIR="/usr/lib/$multiarch" MANDIR=/usr/man DOCDIR=/usr/doc/uvmp
}
echo recorder >"$copy/libuvmp-cupti.so" # as if make cuda had found CUDA; it has found no nvcc
touch -d '+1 hour' "$copy/libuvmp-cupti.so"
check 'install, multiarch' put install
[ "$(cat "$root/usr/lib/$multiarch/libuvmp-cupti.so")" = recorder ] && [ ! -e "$root/usr/bin/uvmp-cuda-bench" ]
verdict $? 'installed: of what needs CUDA, what is built'
for file in "lib/$multiarch/libuvmpolicy.so" "lib/$multiarch/libuvmpolicy.so.$major" "lib/$multiarch/libuvmpolicy.a" \
	"lib/$multiarch/libuvmpolicy-pager.a" "lib/$multiarch/libuvmpolicy-pager.so" "lib/$multiarch/libuvmpolicy-pager.so.$major" \
	"lib/$multiarch/libuvmp-preload.so" "lib/$multiarch/pkgconfig/libuvmpolicy.pc" "lib/$multiarch/pkgconfig/libuvmpolicy-pager.pc" \
	bin/uvmsim bin/uvmp-run bin/uvmp-calibrate man/man1/uvmp-calibrate.1 include/uvmpolicy/policy.h include/uvmpolicy/pager.h \
	include/uvmpolicy/host.h include/uvmpolicy/host.hpp include/uvmpolicy/macsim.hpp include/uvmpolicy/gate.hpp \
	"lib/$multiarch/libuvmpolicy-host.a" "lib/$multiarch/libuvmpolicy-host.so.$major" \
	"lib/$multiarch/pkgconfig/libuvmpolicy-host.pc" \
	man/man1/uvmsim.1 man/man1/uvmp-run.1 man/man3/uvmpolicy.3 man/man7/uvmpolicy-policy.7 \
	doc/uvmp/LICENSE doc/uvmp/api.json doc/uvmp/embedding.md doc/uvmp/examples/own_store.c; do
	check "installed: $file" test -s "$root/usr/$file"
done
find "$root" -mindepth 2 -maxdepth 2 | sed "s,$root,," | sort | tr '\n' ' ' >"$work/out"
[ "$(cat "$work/out")" = '/usr/bin /usr/doc /usr/include /usr/lib /usr/man ' ]
verdict $? 'installed: nothing elsewhere'
check 'installed: the links of the documents' sh tests/cli/links.sh --installed "$root/usr/doc/uvmp"
find "$root/usr/lib" -mindepth 1 -maxdepth 1 >"$work/out"
[ "$(cat "$work/out")" = "$root/usr/lib/$multiarch" ]
verdict $? 'installed: no library outside of LIBDIR'

# runs NAME UVMP-RUN: the program of the preload tests under it, or it says that there is no pager
runs() {
	check "$1: uvmp-run finds its library" "$2" --budget 8M --quiet -- true
	! grep -q 'not found' "$work/out"
	verdict $? "$1: and does not complain"
}
runs installed "$root/usr/bin/uvmp-run"
mkdir "$work/moved" && mv "$root/usr" "$work/moved/opt"
runs moved "$work/moved/opt/bin/uvmp-run"
mv "$work/moved/opt/lib/$multiarch/libuvmp-preload.so" "$work"
"$work/moved/opt/bin/uvmp-run" --budget 8M -- true >"$work/out" 2>&1
[ $? = 2 ] && grep -qF "../lib/$multiarch" "$work/out"
verdict $? 'without its library: exit status 2, and where it looked'
mv "$work/libuvmp-preload.so" "$work/moved/opt/lib/$multiarch"
mv "$work/moved/opt" "$root/usr"

# By pkg-config, as a system's own: the sysroot is put before what the files name.
export PKG_CONFIG_LIBDIR="$root/usr/lib/$multiarch/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
cat >"$work/version.c" <<'END'
#include <uvmpolicy/base.h>
#include <uvmpolicy/policy.h>
#include <stdio.h>
int main(void)
{
	puts(uvmp_status_text(UVMP_OK));
	return 0;
}
END
# shellcheck disable=SC2046
check 'pkg-config: a program with the shared library' \
	$CC $(pkg-config --cflags libuvmpolicy) "$work/version.c" $(pkg-config --libs libuvmpolicy) -o "$work/shared"
check 'pkg-config: it runs' env LD_LIBRARY_PATH="$root/usr/lib/$multiarch" "$work/shared"
readelf -d "$work/shared" 2>/dev/null | grep -q "libuvmpolicy\\.so\\.$major"
verdict $? "pkg-config: it needs libuvmpolicy.so.$major"
# shellcheck disable=SC2046
check 'pkg-config: a program with the pager' \
	$CC $(pkg-config --cflags libuvmpolicy-pager) docs/examples/own_store.c $(pkg-config --libs libuvmpolicy-pager) -o "$work/pager"
pkg-config --variable=libdir libuvmpolicy >"$work/out" 2>&1
grep -q "/usr/lib/$multiarch\$" "$work/out"
verdict $? 'pkg-config: its libdir'

: >"$root/usr/include/uvmpolicy/of_the_user.h"
check uninstall put uninstall
find "$root" ! -type d >"$work/out"
[ "$(cat "$work/out")" = "$root/usr/include/uvmpolicy/of_the_user.h" ]
verdict $? 'uninstall: no file is left but that of another'
rm "$root/usr/include/uvmpolicy/of_the_user.h"
check 'uninstall, again' put uninstall
find "$root" \( -name uvmpolicy -o -name uvmp \) >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'uninstall: no directory of its own is left'

# With directories named one by one, and by default under PREFIX
check 'install, under PREFIX alone' $MAKE -s install BUILD="$copy" CC="$CC" DESTDIR="$work/plain" PREFIX=/opt/uvmp
for file in lib/libuvmpolicy.a bin/uvmsim include/uvmpolicy/policy.h share/man/man1/uvmsim.1 share/doc/libuvmpolicy/LICENSE \
	lib/pkgconfig/libuvmpolicy.pc; do
	check "under PREFIX: $file" test -s "$work/plain/opt/uvmp/$file"
done
runs 'under PREFIX' "$work/plain/opt/uvmp/bin/uvmp-run"
check 'uninstall, under PREFIX' $MAKE -s uninstall BUILD="$copy" CC="$CC" DESTDIR="$work/plain" PREFIX=/opt/uvmp
find "$work/plain" ! -type d >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'uninstall, under PREFIX: no file is left'

# Every command that make would run for a clean build has CPPFLAGS when it compiles and LDFLAGS when it links.
# WERROR may be set outside, as in .ci/run; here it is asked for only where the test says so.
unset WERROR
$MAKE -n all examples BUILD="$work/other" CPPFLAGS=-DOF_THE_USER LDFLAGS=-Wl,--of-the-user >"$work/commands" 2>/dev/null
grep -E '(^|; *)[^ ]*(cc|clang) ' "$work/commands" | grep -v ' -dumpmachine' >"$work/calls"
[ "$(grep -c ' -c ' "$work/calls")" -gt 100 ]
verdict $? 'make all: its commands are known'
grep ' -c ' "$work/calls" | grep -v -e '-DOF_THE_USER' >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'CPPFLAGS reaches every compilation'
grep -v ' -c ' "$work/calls" | grep -v -e '-Wl,--of-the-user' >"$work/out"
[ ! -s "$work/out" ] && [ "$(grep -vc ' -c ' "$work/calls")" -ge 5 ]
verdict $? 'LDFLAGS reaches every link'
grep -e -Werror "$work/commands" >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'warnings are no errors'
$MAKE -n all BUILD="$work/other" WERROR=1 2>/dev/null | grep ' -c ' | grep -v -e -Werror >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'WERROR=1: warnings are errors'

# Programs that are linked already are linked again for other LDFLAGS.
check 'make all, with LDFLAGS' $MAKE -s all LDFLAGS=-Wl,--build-id=0x0123456789abcdef BUILD="$copy" CC="$CC"
for file in uvmsim uvmp-run libuvmp-preload.so libuvmpolicy.so.$major libuvmpolicy-pager.so.$major; do
	readelf -n "$copy/$file" 2>/dev/null | grep -q 'Build ID: 0123456789abcdef'
	verdict $? "other LDFLAGS: $file is linked again"
done

# When zstd comes or goes, the files that use it are compiled again, and no others.
check 'everything is built' $MAKE -s all BUILD="$copy" CC="$CC"
touch "$work/before"
sleep 0.1
check 'make all, without zstd' $MAKE -s all HAVE_ZSTD= BUILD="$copy" CC="$CC"
find "$copy/rel" "$copy/fast" -name '*.o' -newer "$work/before" | sed "s,$copy/[a-z]*/,,; s,\.o$,.c," | sort -u >"$work/compiled"
xargs grep -L HAVE_ZSTD <"$work/compiled" >"$work/out"
if [ ! -s "$work/out" ] && { [ -s "$work/compiled" ] || ! grep -q HAVE_ZSTD "$build/zstd_flags"; }; then
	verdict 0 'without zstd: only its users are compiled again'
else
	verdict 1 'without zstd: only its users are compiled again'
fi
! nm -u "$copy/uvmsim" "$copy/uvmp-run" | grep ZSTD_ >"$work/out"
verdict $? 'without zstd: nothing calls it'
"$copy/uvmp-run" --budget 16M --store zstd -- true >"$work/out" 2>&1
[ $? = 2 ] && grep -qx 'uvmp-run: .*zstd: built without zstd; install libzstd-dev and build again' "$work/out"
verdict $? 'without zstd: --store zstd says so, and what to install'
exit $failed
