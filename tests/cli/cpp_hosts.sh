#!/bin/sh
# uvmpolicy/host.hpp, and the glue of foreign simulators with mocks of these simulators: each compiles as C++11 and
# C++17 without warnings, and does what it says under the address and undefined-behaviour sanitizers.
# usage: cpp_hosts.sh BUILD
set -u
export LC_ALL=C
build=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
: "${CXX:=g++}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
command -v "$CXX" >/dev/null 2>&1 || { echo "skipped: no C++ compiler ($CXX)" && exit 0; }
verdict() # STATUS WHAT
{
	if [ "$1" = 0 ]; then echo "ok   $2"; else
		echo "FAIL $2"
		head -n 30 "$tmp/log" | sed 's/^/     /'
		failed=1
	fi
}

mkdir -p "$tmp/include/uvmpolicy" # as installed
cp include/uvmpolicy/*.h adapters/*/uvmpolicy/*.h adapters/*/uvmpolicy/*.hpp "$tmp/include/uvmpolicy"
wc -l adapters/common/uvmpolicy/host.hpp >"$tmp/log"
[ "$(wc -l <adapters/common/uvmpolicy/host.hpp)" -lt 200 ]
verdict $? "host.hpp has fewer than 200 lines"
warn="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror"
for name in host_cpp macsim_mock accel_sim_mock; do
	# shellcheck disable=SC2086 # list
	$CXX -std=c++17 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $warn -I"$tmp/include" \
		"tests/cli/$name.cpp" "$build/libuvmpolicy-host.a" -o "$tmp/$name" >"$tmp/log" 2>&1 && timeout 60 "$tmp/$name" >"$tmp/log" 2>&1
	verdict $? "$name.cpp, C++17, sanitizers"
	# shellcheck disable=SC2086 # list
	$CXX -std=c++11 -fsyntax-only $warn -I"$tmp/include" "tests/cli/$name.cpp" >"$tmp/log" 2>&1
	verdict $? "$name.cpp compiles as C++11"
done
exit $failed
