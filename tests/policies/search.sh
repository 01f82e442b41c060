#!/bin/sh
# The best combination of keys for one program, memory size and GPU, by coordinate descent over search.txt: a lower bound on what
# the keys can gain. usage: search.sh UVMSIM DIR KIND ARGUMENTS [START...]
#   KIND: both (without remote access) or remote; ARGUMENTS: of `uvmsim run`, one word list; START: policy strings to begin at
# DIR/evaluations keeps the time of every run: a search that was interrupted repeats none. DIR/known, if it is there, has times of
# other runs, POLICY|TIME_NS; these policies are starts too. DIR/best-KIND gets one line, POLICY|TIME_NS|POLICIES TRIED|DESCENTS.
# The result depends on nothing but the arguments, DIR/known and the environment's settings of the search.
#   search.sh UVMSIM --check       names keys and words of `list policies` without a place in search.txt; fails for others there
#   search.sh UVMSIM --link GPU    what the GPU's link carries, in MB/s: IN OUT
#   search.sh UVMSIM --eligible    presets that may be starts: NAME|POLICY|KIND, both for those that need no remote access
# Environment: SEARCH_TABLE: instead of search.txt. SEARCH_NAMES: only these coordinates. SEARCH_SWEEPS: at most (3).
# SEARCH_DESCENTS: from the best so many starts (2); 0: the best start is the result. POLICIES_LIMIT=SECONDS: of one run (3600).
# POLICIES_REUSE=1: results of another uvmsim are taken. SEARCH_JOBS: runs at a time (processors).
set -eu
here=$(dirname "$0")
table=${SEARCH_TABLE:-$here/search.txt}

# The number of a key in one run's JSON.
number_of() { # JSON KEY
	number=${1#*"\"$2\": "}
	echo "${number%%,*}"
}

# The time of a run: that of the program, but at least the time that the link needs for its bytes. Copies may go on after the
# program's end.
time_of() { # JSON
	time=$(number_of "$1" time_ns)
	for way in "h2d ${SEARCH_LINK% *}" "d2h ${SEARCH_LINK#* }"; do
		bytes=$(($(number_of "$1" "${way% *}_bytes") + $(number_of "$1" "remote_${way% *}_bytes")))
		[ $((bytes * 1000)) -le $((time * ${way#* })) ] || time=$(((bytes * 1000 + ${way#* } - 1) / ${way#* }))
	done
	echo "$time"
}

# One run: POLICY|TIME_NS, POLICY|>UNTIL if it takes longer, POLICY|error|WHY. SEARCH_LINK: what search.sh --link prints.
if [ "$1" = --one ]; then
	uvmsim=$2 dir=$3 until=$4 arguments=$5 policy=$6
	status=0
	limit=
	[ "$until" = 0 ] || limit="--until $until"
	# shellcheck disable=SC2086 # words on purpose
	text=$(timeout -s KILL "${POLICIES_LIMIT:-3600}" "$uvmsim" run $arguments $limit --policy "$policy" --format json \
		2>"$dir/error.$$" </dev/null) || status=$?
	case $status$text in
	0*'"complete": true'*)
		line="$policy|$(time_of "$text")"
		;;
	0*'cut by --until'*) line="$policy|>$until" ;;
	2*) line="$policy|error|$(tail -n 1 "$dir/error.$$" | tr '|' ' ')" ;;
	*) # killed or interrupted: it is run again the next time
		line=
		echo "search: $policy: no result, status $status (137: not done within POLICIES_LIMIT); not counted" >&2
		;;
	esac
	[ -z "$line" ] || printf '%s\n' "$line" >>"$dir/evaluations"
	rm -f "$dir/error.$$"
	exit 0
fi

uvmsim=$1 dir=$2
keys=$(mktemp)
trap 'rm -f "$keys"' EXIT
trap 'exit 130' INT TERM
{ "$uvmsim" list policies && echo && "$uvmsim" list presets; } >"$keys"
case $dir in --check | --eligible)
	awk -v mode="${dir#--}" -v keys="$keys" -v table="$table" -f "$here/search.awk" </dev/null
	exit
	;;
esac
link() { # GPU
	"$uvmsim" list gpus | awk -v gpu="$1" '/^[a-z]/ { is_it = $1 == gpu } is_it { text = text " " $0 }
		END { gsub(/ +/, " ", text); sub(/.*up to /, "", text); split(text, w, " "); print w[1], w[4] }'
}
if [ "$dir" = --link ]; then
	link "$3"
	exit
fi
kind=$3 arguments=$4
SEARCH_LINK=$(link "$(echo "$arguments" | sed 's/.*--gpu \([^ ]*\).*/\1/')")
export SEARCH_LINK
shift 4
mkdir -p "$dir"
head="# $(cksum <"$uvmsim") $arguments"
# A line `# PROGRAM ARGUMENTS` goes before the runs of each program.
heads=$(sed -n '/^#/p' "$dir/evaluations" 2>/dev/null | sort -u) || :
if [ -n "${POLICIES_REUSE:-}" ] && [ "$(echo "$heads" | sed 's/^# [0-9]* [0-9]* //' | sort -u)" = "$arguments" ]; then
	[ "$(sed -n '/^#/p' "$dir/evaluations" | tail -n 1)" = "$head" ] || echo "$head" >>"$dir/evaluations"
elif [ "$heads" != "$head" ]; then
	echo "$head" >"$dir/evaluations"
fi
for start in "$@"; do printf '%s\n' "$start"; done >"$dir/starts"
one="xargs -d '\\n' -n 1 -P ${SEARCH_JOBS:-$(nproc)} sh '$0' --one '$uvmsim' '$dir'"
awk -v mode=search -v keys="$keys" -v table="$table" -v kind="$kind" -v dir="$dir" -v one="$one" -v arguments="$arguments" \
	-v names="${SEARCH_NAMES:-}" -v jobs="${SEARCH_JOBS:-$(nproc)}" -v sweeps="${SEARCH_SWEEPS:-3}" \
	-v descents="${SEARCH_DESCENTS:-2}" -f "$here/search.awk" </dev/null >"$dir/best-$kind.part"
mv "$dir/best-$kind.part" "$dir/best-$kind"
