#!/bin/sh
# The Python package and the description of the C API: tests/python. Needs Python 3.9; without hypothesis, the property tests are
# skipped. usage: python.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd) || exit 1
python=
for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
	"$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
	[ -n "$python" ] || python=$candidate
	# The first Python that has hypothesis; a Debian package belongs to /usr/bin/python3.
	if "$candidate" -c 'import hypothesis' 2>/dev/null; then python=$candidate && break; fi
done
if [ -z "$python" ]; then
	echo 'ok   python: skipped: there is no Python 3.9 or later'
	exit 0
fi
unset PYTHONHOME UVMSIM
PYTHONPATH="$PWD/adapters/python" PYTHONDONTWRITEBYTECODE=1 \
	UVMPOLICY_LIBRARY="$build/libuvmpolicy-python.so" UVMSIM="$build/uvmsim" \
	exec "$python" tests/python/run.py
