# What scripts begin with that are called with BUILD and call make or compilers. They source this file, which moves to the root of
# the repository. Sets build, work (removed at the end), CC, MAKE.
# shellcheck shell=sh
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd) || exit 1
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
: "${CC:=cc}" "${MAKE:=make}"
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL LD_LIBRARY_PATH SOURCE_DATE_EPOCH
. tests/cli/support/verdict.sh
