#!/bin/sh
# The shared libraries have the binary interface of the last version (tests/abi), and the comparison finds a public structure
# that has changed. usage: abi.sh BUILD
set -u
build=$(cd "${1:-build}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
result() { # WHAT STATUS
	if [ "$2" = 0 ]; then echo "ok   $1"; else
		failed=1
		echo "FAIL $1"
		sed 's/^/     /' "$work/out"
	fi
}
if ! command -v abidiff >/dev/null || ! command -v abidw >/dev/null; then
	echo "ok   nothing to do"
	echo "skipped: abi.sh: abidiff is missing (apt-get install abigail-tools)"
	exit 0
fi
abi() { sh tests/abi/abi.sh "$@" >"$work/out" 2>&1; }

# A small library of the public headers, of which one structure is changed.
cat >"$work/small.c" <<'END'
#include "uvmpolicy/uvmpolicy.h"
#include "uvmpolicy/advanced.h"
enum uvmp_status uvmp_service_params_check(const struct uvmp_service_params *params, struct uvmp_service_error *error)
{
	return params && params->gpu && params->policy && error ? UVMP_OK : UVMP_ERR_ARGUMENT;
}
enum uvmp_status uvmp_residency_select(const struct uvmp_processors *processors, const struct uvmp_residency_facts *facts,
				       struct uvmp_residency_place *place)
{
	return processors && facts && place ? UVMP_OK : UVMP_ERR_ARGUMENT;
}
END
small() { # SED-SCRIPT HEADER: builds the library with a changed header
	rm -rf "$work/include"
	cp -r include "$work/include"
	sed -i "$1" "$work/include/uvmpolicy/$2"
	${CC:-cc} -std=c11 -g -fPIC -shared "-I$work/include" "$work/small.c" -o "$work/small.so" >"$work/out" 2>&1 ||
		{ result "the small library compiles" 1; exit 1; }
}
small '' base.h
abi record "$work/small.so" "$work/include/uvmpolicy" "$work/small.abi"
result "an interface is recorded" $?
abi check "$work/small.so" "$work/include/uvmpolicy" "$work/small.abi"
result "the same library has the same interface" $?
differs() { # WHAT SED-SCRIPT HEADER
	small "$2" "$3"
	! cmp -s "include/uvmpolicy/$3" "$work/include/uvmpolicy/$3" || { echo "the header is as before" >"$work/out" && result "$1" 1; }
	abi check "$work/small.so" "$work/include/uvmpolicy" "$work/small.abi"
	[ $? = 1 ]
	result "$1" $?
}
differs "a field inside a structure is a difference" 's/^struct uvmp_residency_facts {/&\n\tuint32_t another;/' residency.h
differs "a field at the end of a structure without a size is one" \
	's/^struct uvmp_residency_place {/struct uvmp_residency_place {\n\tuint64_t first;/' residency.h
differs "a field inside a structure with a size is one" 's/^\tuint32_t blocks; .*/\tuint64_t another;\n&/' service.h
differs "another type of a field is one" 's/^\tuint64_t seed;/\tuint32_t seed;/' service.h
differs "a field at the end of a structure with a size is one, to be looked at" \
	's/^\tuint32_t gpus;.*/\tuint64_t another;\n&/' service.h
small '' base.h
echo 'int uvmp_another(void); int uvmp_another(void) { return 1; }' >>"$work/small.c"
small '' base.h
abi check "$work/small.so" "$work/include/uvmpolicy" "$work/small.abi"
result "another function is none" $?

for record in tests/abi/*.abi; do
	library=$build/$(basename "$record" .abi).so
	case $record in
	*pager*) headers=adapters/userspace ;;
	*host*) headers=adapters/common/uvmpolicy ;;
	*) headers=include/uvmpolicy ;;
	esac
	if readelf -S "$library" | grep -q '\.debug_info'; then
		abi check "$library" "$headers" "$record"
		result "$(basename "$library") has the recorded interface" $?
	else
		echo "skipped: abi.sh: $library has no debugging information (CFLAGS without -g)"
	fi
done
exit $failed
