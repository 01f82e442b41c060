#!/bin/sh
# What the documents say of published figures is what tests/fidelity/results.txt says, and only rows that can fail count.
# Needs neither runs nor gnuplot. usage: fidelity.sh
set -eu
cd "$(dirname "$0")/../.."
f=tests/fidelity
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
bad() {
	echo "FAILED: $1"
	[ ! -s "$work/out" ] || sed 's/^/    /' "$work/out"
	failed=1
}
check() { awk -v models=adapters/simulator/models -f $f/check.awk "$1" "${2:-$f/results.txt}" >"$work/out" 2>&1; }
# The check finds what is counted and must not be. finds TEXT WHAT: after a change of rows.txt (results.txt) by sed.
finds() {
	if check "$work/rows.txt" "$work/results.txt"; then
		bad "$2: nothing is found"
	elif grep -qF "$1" "$work/out"; then
		ok "$2"
	else
		bad "$2: not found"
	fi
}
mutate() { # ROWS-SED RESULTS-SED
	sed "$1" $f/rows.txt >"$work/rows.txt"
	sed "${2:-}" $f/results.txt >"$work/results.txt"
}

if check $f/rows.txt; then
	ok 'every row that counts can fail and repeats no other'
else
	bad 'rows are counted that must not be'
fi
mutate '/^uncounted repeats sim-backprop-tbn-faults/d' 's/\tuncounted$/\tinside/'
finds 'row sim-backprop-adaptive-faults: repeats sim-backprop-tbn-faults' 'a repeated row is found'
mutate 's/^row t1-sgemm-left .* 3.44 /row t1-sgemm-left | left | 3.94 /'
finds 'row t1-sgemm-left: is not t1-sgemm-with over t1-sgemm-total' 'a row that is no quotient of two others is found'
mutate '/^uncounted input sand2022.link/d'
finds 'row sand-link-4: the model v100-sand.gpu contains the published 3.2219' 'a constant of the model is found'
mutate '/^uncounted certain/d'
finds 'row t2-29228-pages: a run in which nothing happens' 'a published 0 is found'
finds 'row kim-all-ue: an exact figure restates' 'an exact figure is found'
mutate 's/| 0\.8\.\.1 |/| 0..1 |/'
finds 'row kim-fig1-irregular: every outcome is in the range 0..1' 'a range that no outcome leaves is found'
mutate 's/| faults | 10 |/| faults | 20 |/'
finds 'tolerance 20 % is too wide' 'a wide tolerance is found'
mutate '/^uncounted quotient t1-sgemm-with/d
	s/^row t1-sgemm-left .*/row t1-sgemm-left | saved | 96.56 | % | 10 | 100*(1-faults_raw(sgemm-pf)\/faults_raw(sgemm-none))/'
finds 'row t1-sgemm-left: a share above half' 'a share of faults saved is found'
mutate 's/pages_evicted(s-alru)</&=/'
finds 'row ag-access-lru-sgemm: equality meets' 'an ordering that equality meets is found'
mutate '' 's/^sim-backprop-adaptive-faults\t[0-9]*/sim-backprop-adaptive-faults\t7/'
finds 'row sim-backprop-adaptive-faults: does not repeat' 'a row that no longer repeats another is found'

awk -f $f/accuracy.awk $f/rows.txt $f/results.txt docs/accuracy.md >"$work/page"
if diff docs/accuracy.md "$work/page" >"$work/out"; then
	ok 'the tables of docs/accuracy.md are those of results.txt'
else
	bad 'docs/accuracy.md differs from results.txt: run make fidelity-figures'
fi
# Its split of UVM Smart's simulator: the rows add up to the source's row.
sums() { # PAGE
	awk -F ' *[|] *' '
		$2 == "UVM Smart artifact: its simulator" {whole = $4}
		$2 == "UVM Smart'"'"'s simulator" && $3 == "program" {inside = 1; next}
		inside && !/^[|]/ {inside = 0}
		inside && split($4, n, " of ") == 2 {a += n[1]; b += n[2]}
		END {if (whole != a " of " b) print "the split adds up to " a " of " b ", the row says " whole}' "$1"
}
sed '/^| orderings of several runs/d' docs/accuracy.md >"$work/page"
if [ -z "$(sums docs/accuracy.md)" ] && [ -n "$(sums "$work/page")" ]; then
	ok "docs/accuracy.md: the split of UVM Smart's simulator adds up"
else
	sums docs/accuracy.md >"$work/out"
	bad "docs/accuracy.md: the split of UVM Smart's simulator does not add up"
fi
# Calibration and validation.
validation() { awk -v models=adapters/simulator/models "$@"; }
validation -f $f/validation.awk $f/calibration.txt $f/rows.txt $f/results.txt docs/validation.md >"$work/page"
if diff docs/validation.md "$work/page" >"$work/out"; then
	ok 'the tables of docs/validation.md are those of results.txt and calibration.txt'
else
	bad 'docs/validation.md differs: run make fidelity-figures'
fi
validation -v list=1 -f $f/validation.awk $f/calibration.txt $f/rows.txt $f/results.txt >"$work/list"
if diff adapters/simulator/models/validation.list "$work/list" >"$work/out"; then
	ok 'uvmsim list gpus says what results.txt says'
else
	bad 'adapters/simulator/models/validation.list differs: run make fidelity-figures'
fi
# A constant whose comment names no kind of source is an error, not a published number.
mkdir "$work/models"
cp adapters/simulator/models/* "$work/models"
sed 's/^\(sms = [0-9]*\).*/\1 # a guess/; s/^\(walk_ns = [0-9]*\).*/\1/' adapters/simulator/models/titan-v.gpu \
	>"$work/models/titan-v.gpu"
if awk -v models="$work/models" -v list=1 -f $f/validation.awk $f/calibration.txt $f/rows.txt $f/results.txt \
	>"$work/list" 2>"$work/out"; then
	bad 'a comment of no known kind passes'
elif grep -q '/titan-v.gpu: sms: the comment "a guess" begins with no kind' "$work/out" &&
	grep -q '/titan-v.gpu: walk_ns: the comment "" begins' "$work/out" && [ "$(wc -l <"$work/out")" = 2 ]; then
	ok 'a comment of no known kind is found'
else
	bad 'a comment of no known kind: another error'
fi
# An experiment that a reason names exists, and its page has it.
experiments() { # ROWS
	known=$(sh $f/experiments.sh list)
	grep -oE '\b(us|kim|ti|blog|sand|gx|moe|fo|ag|allen|sa)_[a-z]+' "$1" | sort -u | while IFS= read -r name; do
		echo "$known" | grep -qx "$name" || echo "no $name in $f/experiments"
	done
	for name in $known; do
		grep -qxF "## $name" docs/fidelity-experiments.md || echo "no $name in docs/fidelity-experiments.md"
	done
}
experiments $f/rows.txt >"$work/out"
if [ -s "$work/out" ]; then bad 'an experiment is missing'; else ok 'reasons name experiments that exist'; fi
sed 's/kim_graph/kim_none/' $f/rows.txt >"$work/rows.txt"
if [ "$(experiments "$work/rows.txt")" = "no kim_none in $f/experiments" ]; then
	ok 'an unknown experiment is found'
else
	bad 'an unknown experiment is not found'
fi
if sh $f/fidelity.sh /dev/null "$work" 'no such (row)' >"$work/out" 2>&1; then
	bad 'a pattern that matches no row passes'
elif grep -qxF "fidelity.sh: no row or figure matches the regular expression \`no such (row)'" "$work/out"; then
	ok 'a pattern that matches no row is named'
else
	bad 'a pattern that matches no row: another error'
fi
# A reason that several rows have is written once and has a name.
mkdir "$work/plan"
cat >"$work/named-rows.txt" <<'E'
## heading
reason link The link is slow.
run a run
row first | label | 1 | us | 10 | time_ns(a)
why @link
row second | label | 2 | us | 10 | time_ns(a)
uncounted random @link
why The host is slow. @link Both are old.
E
plan() { # ROWS
	awk -v work="$work/plan" -v pattern=. -f $f/reasons.awk -f $f/plan.awk "$1" >"$work/out" 2>&1
}
printf '%s\n' 'The link is slow.|' 'The host is slow. The link is slow. Both are old.|random The link is slow.' >"$work/whole"
if plan "$work/named-rows.txt" && cut -f 8,11 "$work/plan/rows" | tr '\t' '|' | diff "$work/whole" - >"$work/out"; then
	ok 'names of reasons stand for their texts'
else
	bad 'names of reasons do not stand for their texts'
fi
misnamed() { # LINE: TEXT ROWS-SED WHAT
	sed "$2" "$work/named-rows.txt" >"$work/rows.txt"
	if ! plan "$work/rows.txt" && [ "$(cat "$work/out")" = "$work/rows.txt:$1" ]; then
		ok "$3 is found"
	else
		bad "$3 is not found"
	fi
}
misnamed '5: no reason host' '5s/link/host/' 'an unknown name of a reason'
misnamed '4: no reason link' '2d' 'a name without its reason'
misnamed '2: no row refers to reason link' 's/@link/None./' 'a reason that no row refers to'
misnamed '3: reason link twice' 2p 'a name of two reasons'
misnamed '2: a reason has a NAME of a-z, 0-9 and -, and a TEXT' '2s/ The.*//' 'a reason without a text'
misnamed "8: the text of $work/rows.txt:5 again: give it a name with \`reason\`" '5s/@.*/The disk./; 8s/The.*/The disk./' \
	'a text written twice'
# A row that misses names an experiment.
unexplained() { # PAGE
	awk '/^Why rows miss:/ {in_list = 1; next} in_list && /^- / && !/[Ee]xperiments? [a-z]+_[a-z]/ {print} /^[^-]/ {in_list = 0}' "$1"
}
unexplained docs/fidelity.md >"$work/out"
if [ -s "$work/out" ]; then bad 'a missed row names no experiment'; else ok 'missed rows name their experiments'; fi
sed 's/xperiments* ag_linear/xperience/' docs/fidelity.md >"$work/page"
if [ "$(unexplained "$work/page" | wc -l)" = 1 ]; then
	ok 'a missed row without an experiment is found'
else
	bad 'a missed row without an experiment is not found'
fi
# A row that an undisclosed input decides names an experiment with at least three inputs that move its figure far enough.
example() { # PAGE ROWS
	awk -f $f/reasons.awk -f $f/undisclosed.awk "$1" "$2" >"$work/out" 2>&1
}
undisclosed() { # ROWS
	example docs/fidelity-experiments.md "$1"
}
if undisclosed $f/rows.txt; then
	ok 'inputs that are not disclosed decide the rows left out for them'
else
	bad 'undisclosed inputs do not decide a row'
fi
# A small example of the rule: three inputs give 80, 100 and 130 for a published 100, and two of them a larger second run.
cat >"$work/example.md" <<'E'
## ag_example

| experiment | change | other | figure | larger |
|---|---|---|---|---|
| | published | 70 | 100 | > 1 |
| ag_example | first | 70 | 80 | 0.9 |
| ag_example | second | 90 | 100.4 | 1.1 |
| ag_example | third | 60 | 130 | 1.2 |
E
cat >"$work/example-rows.txt" <<'E'
row figure | label | 100.2 | us | 10 | time_ns(a)
uncounted undisclosed ag_example 2 inputs give 80 to 130 us
row order | label | 1 | ordering | 0 | time_ns(a)>time_ns(b)
uncounted undisclosed ag_example 3 with the first it does not hold, with others it does
E
if example "$work/example.md" "$work/example-rows.txt"; then
	ok 'a row that an input decides passes'
else
	bad 'a row that an input decides is found'
fi
unfounded() { # TEXT PAGE-SED ROWS-SED WHAT
	sed "$2" "$work/example.md" >"$work/page.md"
	sed "$3" "$work/example-rows.txt" >"$work/rows.txt"
	if ! example "$work/page.md" "$work/rows.txt" && grep -qF "$1" "$work/out"; then ok "$4 is found"; else bad "$4 is not found"; fi
}
# shellcheck disable=SC2016 # the finding's quotes
unfounded 'experiment `ag_none` has 0 inputs' '' 's/ag_example 2/ag_none 2/' 'an experiment without inputs'
unfounded 'has 2 inputs, fewer than three' '/second/d' '' 'an experiment with two inputs'
unfounded 'goes from 80 to 130, not from 1 to 130' '' 's/give 80/give 1/' 'a wrong span'
unfounded 'is within the tolerance, so it counts' 's/| 80 |/| 98 |/; s/| 130 |/| 104 |/' 's/80 to 130/98 to 104/' \
	'a span within the tolerance'
unfounded 'no input of ag_example is inside, so it counts as a miss' 's/100.4/120/' '' 'a figure that all inputs miss'
unfounded 'no input of ag_example is inside, so it counts as a miss' 's/| 1\.[12] |/| 0.5 |/' '' 'an ordering that all inputs miss'
unfounded 'every input of ag_example gives the same verdict' 's/| 0\.9 |/| 1.3 |/' '' 'an ordering that all inputs meet'
unfounded 'every input of ag_example gives the same verdict' 's/| 100 |/| 50..200 |/' 's/| 100.2 |/| 50..200 |/' \
	'a range that all inputs meet'
# shellcheck disable=SC2016
unfounded 'has the published `70`, not 100.2' '' 's/ag_example 2 inputs give 80 to 130/ag_example 1 inputs give 60 to 90/' \
	'a column of another figure'
unfounded 'has no numbers' 's/| 80 |/| few |/' '' 'a column without numbers'
unfounded 'the reason does not say what the inputs' '' 's/give 80/move 80/' 'a reason without a span'
unfounded 'the reason does not say with which input' '' 's/it does$/too/' 'an ordering without two verdicts'
# Every source is in the table by source, and its counts add up to the rows that count.
awk -F ' [|] ' '/^## / { name = substr($0, 4) } /^row / { rows[name]++ } END { for (name in rows) print name }' $f/rows.txt |
	while IFS= read -r name; do
		grep -qF "| $name | " docs/validation.md || echo "no $name in docs/validation.md"
		grep -qF "| $name | " docs/accuracy.md || echo "no $name in docs/accuracy.md"
	done >"$work/out"
if [ -s "$work/out" ]; then bad 'a source is left out'; else ok 'no source is left out'; fi
# A constant that rows chose is set in its file and says so; each line matches rows.
calibration() { # FILE
	awk -F ' [|] ' -v models=adapters/simulator/models '
		FILENAME ~ /calibration/ && /^stand-in / { n++; pattern[n] = $2; text[n] = $0; next }
		FILENAME ~ /calibration/ && /^[a-z]/ {
			n++; pattern[n] = $2; text[n] = $0
			if ($3 != "fitted" && $3 != "chosen") print "neither fitted nor chosen: " $0
			split($1, word, " ")
			if (word[1] == "program") next
			keys = split(word[2], key, ",")
			for (i = 1; i <= keys; i++) {
				found = 0
				while ((getline line < (models "/" word[1])) > 0)
					if (index(line, key[i] " = ") == 1 && line ~ /# calibrated/) found = 1
				close(models "/" word[1])
				if (!found) print word[1] ": " key[i] " is not set with a comment that says calibrated"
			}
		}
		FILENAME ~ /rows/ && /^row / {
			id = $1; sub(/^row +/, "", id)
			for (i = 1; i <= n; i++) if (id ~ "^(" pattern[i] ")$") used[i] = 1
		}
		END { for (i = 1; i <= n; i++) if (!used[i]) print "matches no row: " text[i] }' "$1" $f/rows.txt
}
calibration $f/calibration.txt >"$work/out"
if [ -s "$work/out" ]; then bad 'a calibrated constant is not named as such'; else ok 'calibrated constants are named as such'; fi
sed 's/ag-fig1-pf/ag-fig1-none-such/; s/titan-v.gpu alloc_ns/titan-v.gpu walk_ns/' $f/calibration.txt >"$work/calibration.txt"
calibration "$work/calibration.txt" >"$work/out"
if [ "$(wc -l <"$work/out")" = 2 ]; then
	ok 'a line of calibration.txt that is wrong is found'
else
	bad 'a wrong line of calibration.txt'
fi
# The other direction: a comment that says calibrated belongs to a line of calibration.txt, for its own file or another GPU.
grep -ho '^[a-z0-9_]* = .*# calibrated' adapters/simulator/models/* | sed 's/ = .*//' | sort -u | while IFS= read -r key; do
	grep -qE "^[a-z0-9.-]+ ([a-z0-9_]+,)*$key(,[a-z0-9_]+)* [|] " $f/calibration.txt || echo "$key"
done >"$work/out"
if [ -s "$work/out" ]; then
	bad 'constants say calibrated, and calibration.txt lacks them'
else
	ok 'calibration.txt has every calibrated constant'
fi
total=$(awk -F '\t' '$3 == "inside" { i++ } $3 == "inside" || $3 == "misses" { n++ } END { print i " of " n }' $f/results.txt)
: >"$work/out"
for page in fidelity.md accuracy.md; do
	if grep -q "^[*]*$total \(rows\|published figures\) are inside" docs/$page; then
		ok "docs/$page says $total"
	else
		bad "docs/$page does not say $total"
	fi
done

if PLOT_CHECK=1 sh $f/plot.sh docs/fidelity >"$work/out" 2>&1; then
	ok 'the data of every figure fit its columns'
else
	bad 'data do not fit a figure'
fi
cp docs/fidelity/*.csv "$work"
sed 's/"//g' docs/fidelity/kim-fig8.csv >"$work/kim-fig8.csv"
if PLOT_CHECK=1 sh $f/plot.sh "$work" kim-fig8 >"$work/out" 2>&1; then
	bad 'an unquoted comma passes'
else
	ok 'an unquoted comma in a name is found'
fi
if awk -f $f/readable.awk docs/fidelity/*.svg >"$work/out"; then
	ok 'the pictures have whole titles, plain names and numbers, and dark colours'
else
	bad 'a picture is hard to read'
fi
# The legend of a picture has the name of every column, whole.
: >"$work/out"
for name in docs/fidelity/*.csv; do
	grep -q '^x,label,' "$name" || continue
	awk '{
		for (i = 1; i <= length($0); i++) {
			c = substr($0, i, 1)
			if (c == "\"") quoted = !quoted
			else printf "%s", c == "," && !quoted ? "\n" : c
		}
		print ""; exit
	}' "$name" | sed 1,2d | while IFS= read -r label; do
		grep -qF ">$label<" "${name%.csv}.svg" 2>/dev/null || echo "${name%.csv}.svg: no \`$label\`"
	done >>"$work/out"
done
if [ -s "$work/out" ]; then bad 'a picture lacks the name of a column'; else ok 'the pictures name every column'; fi
for name in docs/fidelity/*.csv; do
	[ -f "${name%.csv}.svg" ] || bad "$name has no picture"
done
exit $failed
