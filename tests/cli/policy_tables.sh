#!/bin/sh
# The tables of keys and presets in docs/policies.md are those that the library prints, and a key that differs is noticed; so is
# the dictionary of the fuzz target. usage: policy_tables.sh [UVMSIM]
set -u
cd "$(dirname "$0")/../.." || exit 1
uvmsim=${1:-build/uvmsim}
[ -d "$uvmsim" ] && uvmsim=$uvmsim/uvmsim
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	sed 's/^/     /' "$2" | head -n 20
}
is_same() { cmp -s "$1" "$2"; }

cp docs/policies.md "$work/page.md"
sh tests/policies/tables.sh "$uvmsim" "$work/page.md" 2>"$work/out" || fail 'the tables are found' "$work/out"
if is_same docs/policies.md "$work/page.md"; then ok 'docs/policies.md: every key and every preset (make policy-tables)'; else
	diff docs/policies.md "$work/page.md" >"$work/out"
	fail 'docs/policies.md: every key and every preset (make policy-tables)' "$work/out"
fi
# A default that drifts, and a row that is missing.
for edit in 's/^\(| `threshold` .*\)`51`/\1`50`/' '/^| `min_faults`/d' '/^| `cppe`/d'; do
	sed "$edit" docs/policies.md >"$work/page.md"
	cp "$work/page.md" "$work/wrong.md"
	sh tests/policies/tables.sh "$uvmsim" "$work/page.md"
	: >"$work/out"
	if is_same "$work/wrong.md" "$work/page.md" || ! is_same docs/policies.md "$work/page.md"; then
		fail "a wrong table is noticed: $edit" "$work/out"
	else ok "a wrong table is noticed: $edit"; fi
done
sh tests/policies/tables.sh "$uvmsim" dict >"$work/dict"
grep -vE '^"[a-z0-9_-]+=?"$' "$work/dict" >"$work/out"
words=$(wc -l <"$work/dict")
"$uvmsim" list policies | sed -n 's/^\([a-z_][a-z_]*\)$/"\1="/p' >"$work/keys"
grep -vxFf "$work/dict" "$work/keys" >>"$work/out"
if [ "$words" -gt 130 ] && [ ! -s "$work/out" ]; then
	ok "the dictionary has every key ($words words)"
else
	fail 'the dictionary' "$work/out"
fi
exit $failed
