#!/bin/sh
# CMake finds what make install has installed, also after it was moved: programs in C and C++ with the shared libraries and with the
# archives compile and run; another major version and an unknown component are refused. usage: cmake.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
show="tail -n 20"
export CC
if ! command -v cmake >/dev/null 2>&1; then
	echo 'ok   nothing to do'
	echo 'skipped: cmake is not installed: find_package(uvmpolicy)'
	exit 0
fi
version=$(sed -n 's/^VERSION := //p' Makefile)
major=$(sed -n 's/^SOMAJOR := //p' Makefile)
check 'make install' $MAKE -s install BUILD="$build" DESTDIR="$work/dest" PREFIX=/usr
mv "$work/dest/usr" "$work/moved"
installed=$work/moved/lib/cmake/uvmpolicy
! grep -rqE '@[A-Z]+@|/usr' "$installed"
verdict $? 'the package names no directory'

mkdir "$work/project"
cp docs/examples/decide.c docs/examples/own_store.c docs/examples/ten_minutes.c docs/examples/ten_minutes.cpp "$work/project"
cp tests/check/header.cpp "$work/project/header.cpp"
languages=C
echo 'int main() {}' | ${CXX:-c++} -xc++ - -o "$work/probe" 2>/dev/null && languages='C CXX'
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(user $languages)
find_package(uvmpolicy \${WANTED_VERSION} REQUIRED COMPONENTS uvmpolicy pager host)
find_package(uvmpolicy \${WANTED_VERSION} REQUIRED COMPONENTS uvmpolicy) # a second time, as two parts of a project do
add_executable(decide decide.c)
target_link_libraries(decide uvmpolicy::uvmpolicy)
add_executable(decide_static decide.c)
target_link_libraries(decide_static uvmpolicy::uvmpolicy_static)
add_executable(own_store own_store.c)
target_link_libraries(own_store uvmpolicy::pager)
add_executable(own_store_static own_store.c)
target_link_libraries(own_store_static uvmpolicy::pager_static)
add_executable(ten ten_minutes.c)
target_link_libraries(ten uvmpolicy::host)
add_executable(ten_static ten_minutes.c)
target_link_libraries(ten_static uvmpolicy::host_static)
if(CMAKE_CXX_COMPILER)
  add_executable(ten_cpp ten_minutes.cpp)
  target_compile_features(ten_cpp PRIVATE cxx_std_17)
  target_link_libraries(ten_cpp uvmpolicy::host)
  add_executable(header header.cpp)
  target_compile_features(header PRIVATE cxx_std_17)
  target_link_libraries(header uvmpolicy::uvmpolicy)
endif()
message(STATUS "version \${uvmpolicy_VERSION}, host \${uvmpolicy_host_FOUND}")
END
configure() { # BUILD-DIRECTORY OPTIONS...
	to=$1
	shift
	cmake -S "$work/project" -B "$to" -DCMAKE_PREFIX_PATH="$work/moved" "$@"
}
check "find_package(uvmpolicy $version)" configure "$work/b" -DWANTED_VERSION="$version"
grep -q "version $version, host" "$work/out"
verdict $? 'it knows its version'
check 'programs compile' cmake --build "$work/b"
echo '0 1 2 3 4 6 7 8 9 10 11 12 13 14 15 to GPU 1' >"$work/expected"
for program in decide decide_static; do
	"$work/b/$program" 2>"$work/out" | diff "$work/expected" - >>"$work/out"
	verdict $? "$program decides as the driver"
done
readelf -d "$work/b/decide" | grep -q "libuvmpolicy\.so\.$major"
verdict $? "decide needs libuvmpolicy.so.$major"
! readelf -d "$work/b/decide_static" | grep -q libuvmpolicy
verdict $? 'decide_static does not'
[ "$languages" = C ] || check 'a program in C++ runs' "$work/b/header"
sed -n '/^\$ \.\/ten$/{n;p}' docs/ten-minutes.md >"$work/expected"
[ -s "$work/expected" ]
verdict $? 'docs/ten-minutes.md shows an answer'
cpp=ten_cpp
[ "$languages" != C ] || cpp=
for program in ten ten_static $cpp; do
	"$work/b/$program" 2>"$work/out" | diff "$work/expected" - >>"$work/out"
	verdict $? "$program answers as docs/ten-minutes.md"
done
readelf -d "$work/b/ten" | grep -q "libuvmpolicy-host\.so\.$major" && ! readelf -d "$work/b/ten_static" | grep -q libuvmpolicy
verdict $? "ten needs libuvmpolicy-host.so.$major, ten_static does not"
for program in own_store own_store_static; do
	"$work/b/$program" >"$work/out" 2>&1
	if grep -q userfaultfd "$work/out"; then echo "skipped: $program: $(head -n 1 "$work/out")" && continue; fi
	grep -q '^own_store right' "$work/out"
	verdict $? "$program runs"
done

refused() { # NAME TEXT OPTIONS...
	what=$1 text=$2
	shift 2
	if configure "$work/other" "$@" >"$work/out" 2>&1; then verdict 1 "$what"; else
		grep -q "$text" "$work/out"
		verdict $? "$what"
	fi
	rm -rf "$work/other"
}
refused 'another major version is refused' 'compatible with requested version "99.0"' -DWANTED_VERSION=99.0
sed -i 's/COMPONENTS uvmpolicy pager/COMPONENTS uvmpolicy simulator/' "$work/project/CMakeLists.txt"
refused 'an unknown component is refused' 'uvmpolicy has no component simulator'
exit $failed
