#!/bin/sh
# The screen of `make run`: its size, its parts, its figures, and that it turns red if the library decides otherwise.
# usage: run_screen.sh BUILD
set -u
uvmsim=$1/uvmsim
root=$(dirname "$0")/../..
work=$(mktemp -d "$1/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

verdict() { # NAME STATUS
	[ "$2" = 0 ] && echo "ok   $1" && return
	failed=1
	echo "FAIL $1"
	tail -n 8 "$work/out" | sed 's/^/     /'
}
screen() { sh "$root/tests/run.sh" "$1" >"$work/out" 2>&1; }
fits() {
	awk -v lines="$1" '
		length > 80 {wide = 1; print "wider than 80: " $0}
		END {exit wide || NR > lines || NR < 20}' "$work/out"
}

unset V
screen "$uvmsim"
verdict "exit status 0" $?
cp "$work/out" "$work/screen"
fits 45
verdict "at most 45 lines of 80 columns: $(wc -l <"$work/screen") lines" $?
[ "$(head -n 3 "$work/screen" | tr '\n' ' ' | grep -o '\. ' | wc -l)" = 2 ]
verdict "two sentences say what the library is" $?

# Recorded faults: as many as the data holds.
recorded=$(awk '$1 == "fault" {n++} $1 == "touch" {n += split($5, pages, ",")} END {print n}' "$root/tests/data/gtx1080ti.txt")
grep -q "^   All recorded faults: $recorded of $recorded agree\." "$work/screen"
verdict "all $recorded recorded faults agree" $?
block=$(grep -cE '^ +[0-9]+  [.#Fp]{32} +[0-9]+ pages +[0-9]+ pages  agree$' "$work/screen")
[ "$block" = 7 ]
verdict "picture of one block: $block faults" $?

# The table: six programs; a row is what two runs of uvmsim say.
rows=$(grep -cE '^   [a-z]+ +[0-9.]+ % +[0-9.]+ x +[0-9.]+ % +[0-9.]+ x$' "$work/screen")
[ "$rows" = 6 ]
verdict "table of $rows programs" $?
figure() { # POLICY NAME: from a run of the program of the row
	"$uvmsim" run --workload regular:bytes=40m,passes=3 --oversub 125 --policy "$1" | sed -n "s/^$2  *\([0-9.]*\).*/\1/p"
}
row=$(awk -v z="$(figure prefetch=none 'far faults')" -v d="$(figure prefetch=density 'far faults')" \
	-v zm="$(figure prefetch=none 'moved to the GPU')" -v dm="$(figure prefetch=density 'moved to the GPU')" \
	'BEGIN {printf "%.1f %% %.1f x", 100 * (1 - d / z), dm / zm}')
[ "$(awk '$1 == "regular" {print $6, $7, $8, $9}' "$work/screen")" = "$row" ]
verdict "row regular, a fifth does not fit: $row" $?
random=$(awk '$1 == "random" {print $8}' "$work/screen")
grep -q "If not: random moves $random x\.$" "$work/screen"
verdict "conclusion of the table: $random x" $?

# The picture over time.
grep -E '^ +[0-9]+ MiB\|' "$work/screen" >"$work/out"
[ "$(wc -l <"$work/out")" = 8 ] && for mark in '+' '#' 'x' '\.'; do grep -q "|.*[$mark].*|" "$work/out" || exit 1; done
verdict "picture over time: 8 blocks, first fetches, evictions, refetches" $?
grep -q '^3\. .*: stencil, [0-9.]* MiB on a [0-9]* MiB GPU$' "$work/screen" &&
	grep -qE '^ +0 +time --> +[0-9.]+ ms$' "$work/screen"
verdict "picture over time: sizes with units, an axis of time" $?
# The comparison on the Titan V: faults and ms of each policy.
timed() { # POLICY: time in ns, faults, bytes copied both ways, remote accesses
	"$uvmsim" run --workload stencil:n=1408 --memory 12M --gpu titan-v --policy "$1" --format json | tr ',' '\n' |
		awk -F': ' '
			/"(time_ns|far_faults|h2d_bytes|d2h_bytes|remote_accesses)"/ {gsub(/[ "{]/, "", $1); v[$1] = $2}
			END {print v["time_ns"], v["far_faults"], v["h2d_bytes"] + v["d2h_bytes"], v["remote_accesses"]}'
}
in_words() { awk '{printf "%.1f ms, %d faults, %.0f MiB copied", $1 / 1e6, $2, $3 / 1048576}' "$work/$1"; }
timed preset=nvidia-595 >"$work/driver"
timed preset=auto >"$work/auto"
driver=$(in_words driver)
auto=$(in_words auto)
ratio=$(cat "$work/driver" "$work/auto" | awk '{ns[NR] = $1} END {printf "%.1f", ns[1] / ns[2]}')
grep -q " Titan V: $driver\.$" "$work/screen" && grep -q "^   This library's preset=auto: $auto: $ratio x as fast\.$" "$work/screen"
verdict "the Titan V: $driver; preset=auto $auto, $ratio times as fast" $?
# What the screen gives as the reason is so: accesses go to CPU memory, and without them whole blocks still save most faults.
timed 'preset=auto remote=off' >"$work/near"
remote=$(awk '{print $4}' "$work/auto")
[ "$remote" -gt 0 ] && grep -q "blocks, and $remote accesses read or write CPU memory\.$" "$work/screen" &&
	cat "$work/driver" "$work/near" | awk '{faults[NR] = $2} END {exit 4 * faults[2] > faults[1]}'
verdict "the reasons: whole blocks, $remote accesses to CPU memory" $?
grep -q '^Next: ' "$work/screen" && grep -q 'make run V=1' "$work/screen" && grep -q 'README.md' "$work/screen"
verdict "what to type next" $?

# The first command that the screen proposes runs.
sh -c "$(sed -n '/^Next: /,${s/^Next: //;p;/[^\\]$/q;}' "$work/screen")" >"$work/out" 2>&1
verdict "the proposed command runs" $?

# A program in place of uvmsim, which may call the real one.
stand_in() { # BODY
	printf '#!/bin/sh\nreal() { "%s" "$@"; }\nwork=%s\n%s\n' "$uvmsim" "$work" "$1" >"$work/uvmsim"
	chmod +x "$work/uvmsim"
}
defect() { # BODY; the programs of the table are not run again
	stand_in "case \"\$*\" in compare*regular*) cat \"\$work/programs\" && exit ;; esac
$1"
	screen "$work/uvmsim"
}

# The user's default policy does not change the screen.
stand_in 'case "$*" in compare*regular*) real "$@" >"$work/programs"; cat "$work/programs" ;; *) real "$@" ;; esac'
UVMP_POLICY=threshold=49 screen "$work/uvmsim"
sed "s|$work/|$1/|" "$work/out" | cmp - "$work/screen" >/dev/null
verdict "UVMP_POLICY has no effect" $?

# Libraries that decide otherwise: a wrong threshold; one that ignores the threshold; one that fails.
defect 'case "$1 $*" in "measured "*--policy*) real "$@" ;; measured*) real "$@" --policy threshold=49 ;; *) real "$@" ;; esac'
[ $? = 1 ] && grep -q "DEFECTIVE LIBRARY: 24 of $recorded agree" "$work/out" && grep -q DIFFERS "$work/out"
verdict "a wrong threshold: exit status 1 and its own verdict" $?
defect "case \$1 in measured) real measured $root/tests/data/gtx1080ti.txt ;; *) real \"\$@\" ;; esac"
[ $? = 1 ] && grep -q 'DEFECTIVE LIBRARY' "$work/out"
verdict "a library that ignores the threshold: exit status 1" $?
defect 'case $1 in compare) exit 2 ;; *) real "$@" ;; esac'
[ $? != 0 ]
verdict "a run that fails: exit status not 0" $?

V=1
export V
screen "$uvmsim"
verdict "V=1: exit status 0" $?
fits 400 && grep -q '^   micro-benchmark P3: the host reads back' "$work/out" &&
	[ "$(grep -c ' agree$' "$work/out")" = $((recorded + 7 + 4)) ]
verdict "V=1: every recorded fault, three wrong thresholds, 80 columns" $?
[ "$(grep -cE '^   [a-z.]+: [0-9.]+ MiB on a GPU with' "$work/out")" = 18 ]
verdict "V=1: 18 tables" $?
exit $failed
