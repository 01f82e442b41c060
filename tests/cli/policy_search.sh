#!/bin/sh
# The search for the best combination of keys (tests/policies/search.sh): it names keys without a place, finds what trying every
# combination finds, repeats no run after an interruption, and gives one result for one question. usage: policy_search.sh [UVMSIM]
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
	[ ! -s "$work/out" ] || sed 's/^/     /' "$work/out" | head -n 20
}
search=tests/policies/search.sh
arguments='--gpu titan-v --workload regular:bytes=8m,passes=2 --oversub 150'

# -- every key --
if sh $search "$uvmsim" --check >"$work/out" 2>&1; then
	ok "every key has a place, or is named:$(sed -n 's/^search.txt: \(the key \)\{0,1\}\(.*\) has no place.*/ \2/p' "$work/out" |
		tr -d '\n')"
else fail 'every key has a place, or is named'; fi
noticed() { # SED TEXT [STATUS]: --check prints TEXT, and did not without the change; exit status 0
	sh $search "$uvmsim" --check >"$work/out" 2>&1
	if grep -qF "$2" "$work/out"; then fail "noticed without a change: $2"; fi
	sed "$1" tests/policies/search.txt >"$work/table"
	SEARCH_TABLE=$work/table sh $search "$uvmsim" --check >"$work/out" 2>&1
	status=$?
	if [ "$status" = "${3:-0}" ] && grep -qF "$2" "$work/out"; then ok "noticed: $2"; else
		fail "noticed: $2: status $status"
	fi
}
noticed 's/ pressure_step / /' 'the key pressure_step has no place'
noticed '/^both | thrash /d' 'the key thrash has no place'
noticed 's/ | evict=mhpe//' 'evict=mhpe has no place'
noticed 's/ | plan=overlapped | / | plan=overlaped | /' 'plan=overlapped has no place'
noticed 's/^kept | min_faults/kept | min_fault/' 'no key is named min_fault' 1
noticed 's/^kept /cept /' '"cept" is not accepted' 1
# The same program with a key and a value that `auto` has: they are known, and the preset is no start.
cat >"$work/uvmsim" <<END
#!/bin/sh
"$uvmsim" "\$@" | sed 's/^    values: none density /&auto /
	/^threshold\$/i\\
auto_test\\
    a key\\
    values: 1..2\\
    default: 1\\
    used by: prefetch=auto'
[ "\$2" != presets ] || printf 'auto-test\n    a preset\n    prefetch=auto evict=lru auto_test=2\n'
END
chmod +x "$work/uvmsim"
if sh $search "$work/uvmsim" --check >"$work/out" 2>&1 && ! grep -q auto "$work/out"; then
	ok 'auto is known'
else
	fail 'auto is known'
fi
sh $search "$work/uvmsim" --eligible >"$work/out"
if grep -q '^nvidia-595|' "$work/out" && ! grep -q '^auto' "$work/out"; then ok 'auto is no start'; else fail 'auto is no start'; fi
sed 's/ auto_\*//' tests/policies/search.txt >"$work/table"
SEARCH_TABLE=$work/table sh $search "$work/uvmsim" --check >"$work/out" 2>&1
if grep -q 'the key auto_test has no place' "$work/out"; then ok 'noticed: auto_test'; else fail 'noticed: auto_test'; fi

# -- presets as starts --
sh $search "$uvmsim" --eligible >"$work/eligible"
for line in 'nvidia-595|both' 'uvmsmart-pinned|remote' 'cyclic|remote' 'second-chance|both'; do
	if grep -q "^${line%|*}|.*|${line#*|}\$" "$work/eligible"; then ok "a start: $line"; else fail "a start: $line"; fi
done
if grep -qE '(memory_ratio|link_ratio)=[2-9]|(threads|sm_throttle)=on' "$work/eligible"; then
	fail 'no other machine'
else
	ok 'no other machine'
fi

# -- copies that go on after the program's end --
stale='threshold=1 evict=lru2m granularity=512k reserve=10 replay=block batch=64 plan=overlapped'
stale_run='--gpu titan-v --workload regular:bytes=32m,passes=2 --oversub 200'
SEARCH_NAMES=none sh $search "$uvmsim" "$work/stale" both "$stale_run" "$stale" nvidia-595 >"$work/out" 2>&1 ||
	fail 'a run that copies after its end'
# shellcheck disable=SC2086 # words on purpose
"$uvmsim" run $stale_run --policy "$stale" --format json >"$work/run"
number() { sed "s/.*\"$1\": \([0-9]*\).*/\1/" "$work/run"; }
link_ns=$((($(number h2d_bytes) * 1000 + 11597) / 11598))
if [ "$(number time_ns)" -lt $link_ns ] && [ "$(number link_end_ns)" -ge $link_ns ] &&
	grep -q "^$stale|$link_ns\$" "$work/stale/evaluations"; then
	ok 'the time is at least that of the link'
else fail "a run that copies after its end: $link_ns: $(cat "$work/run" "$work/stale/evaluations")"; fi
if [ "$(sh $search "$uvmsim" --link titan-v)" = '11598 13059' ]; then
	ok 'what the link carries'
else
	fail 'what the link carries'
fi

# -- as good as every combination --
# Of these coordinates a good order is one thing for one threshold and another for another.
cat >"$work/table" <<'END'
both | prefetch | prefetch=density | prefetch=none | prefetch=block
both | threshold | threshold=51 | threshold=1 | threshold=25
both | order | evict=lru | evict=lru2m granularity=64k | evict=lru2m granularity=1m | evict=lru4k
both | plan | plan=serial | plan=overlapped
remote | remote | remote=off | remote=always
pair | order | threshold
leaves | remote=always
END
find_best() { # DIR KIND [START...]
	dir=$1 kind=$2
	shift 2
	SEARCH_TABLE=$work/table sh $search "$uvmsim" "$dir" "$kind" "$arguments" "$@" >"$work/out" 2>&1
}
# Every combination that `list policies` accepts; keys that a choice does not use are left out by hand here.
combinations() { # REMOTE: or not
	for plan in serial overlapped; do
		for order in evict=lru 'evict=lru2m granularity=64k' 'evict=lru2m granularity=1m' evict=lru4k; do
			case $order.$1 in evict=lru.* | *.) remotes=remote=off ;; *) remotes='remote=off remote=always' ;; esac
			for remote in $remotes; do
				[ "$remote" = remote=always ] || remote=
				for prefetch in 'threshold=51' 'threshold=1' 'threshold=25' prefetch=none prefetch=block; do
					echo "$prefetch plan=$plan $order $remote"
				done
			done
		done
	done
}
for kind in both remote; do
	combinations "$([ $kind = both ] || echo yes)" >"$work/all"
	set --
	while read -r policy; do set -- "$@" --policy "$policy"; done <"$work/all"
	# shellcheck disable=SC2086
	"$uvmsim" compare $arguments "$@" --format json >"$work/runs" 2>"$work/out" || fail "$kind: every combination runs"
	least=$(sed -n 's/.*"time_ns": \([0-9]*\), .*/\1/p' "$work/runs" | sort -n | head -n 1)
	most=$(sed -n 's/.*"time_ns": \([0-9]*\), .*/\1/p' "$work/runs" | sort -n | tail -n 1)
	find_best "$work/$kind" $kind nvidia-595 nvidia-aggressive || fail "$kind: search"
	found=$(cut -d'|' -f2 "$work/$kind/best-$kind")
	if [ "$found" = "$least" ] && [ "$least" -lt "$most" ]; then ok "$kind: $found ns, the least of $(wc -l <"$work/all")"; else
		fail "$kind: found \"$found\" ns, the least of $(wc -l <"$work/all") is $least"
	fi
	policy=$(cut -d'|' -f1 "$work/$kind/best-$kind")
	# shellcheck disable=SC2086
	again=$("$uvmsim" run $arguments --policy "$policy" --format json 2>/dev/null | sed -n 's/.*"time_ns": \([0-9]*\), .*/\1/p')
	if [ "$again" = "$found" ]; then
		ok "$kind: the string takes that time"
	else
		fail "$kind: \"$policy\" takes $again ns, not $found"
	fi
done
if [ "$(cut -d'|' -f2 "$work/remote/best-remote")" -le "$(cut -d'|' -f2 "$work/both/best-both")" ]; then
	ok 'remote access costs nothing'
else
	fail 'remote access costs nothing'
fi

# -- resumed, and repeated --
runs=$(wc -l <"$work/both/evaluations")
cp -r "$work/both" "$work/again"
find_best "$work/again" both nvidia-595 nvidia-aggressive
if cmp -s "$work/both/evaluations" "$work/again/evaluations"; then
	ok 'a second search runs nothing'
else
	fail 'a second search runs nothing'
fi
for kept in 1 3 $((runs / 2)) $((runs - 1)); do
	head -n "$kept" "$work/both/evaluations" >"$work/again/evaluations"
	rm "$work/again/best-both"
	find_best "$work/again" both nvidia-595 nvidia-aggressive
	if cmp -s "$work/both/best-both" "$work/again/best-both"; then ok "resumed after $kept of $runs lines"; else
		fail "resumed after $kept of $runs lines: $(cat "$work/again/best-both")"
	fi
done
sed 's/^# /# other /' "$work/both/evaluations" | sed 's/|[0-9]*$/|1/' >"$work/again/evaluations"
find_best "$work/again" both nvidia-595 nvidia-aggressive
if cmp -s "$work/both/best-both" "$work/again/best-both"; then
	ok 'runs of another program are not taken'
else
	fail 'runs of another program are not taken'
fi

# -- bad input --
find_best "$work/bad" both nvidia-59
status=$?
if [ $status != 0 ] && grep -q 'no preset is named nvidia-59' "$work/out" && [ ! -f "$work/bad/best-both" ]; then
	ok 'an unknown start'
else
	fail 'an unknown start'
fi
find_best "$work/bad" both remote=always
if grep -q 'no start may be used' "$work/out"; then ok 'a start that leaves pages'; else fail 'a start that leaves pages'; fi
exit $failed
