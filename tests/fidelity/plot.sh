#!/bin/sh
# Draws pictures from their data. usage: plot.sh FOLDER [NAME ...]: FOLDER/NAME.csv to FOLDER/NAME.svg, for every figure of
# figures.txt or for these. With PLOT_CHECK=1 it only checks the data against figures.txt, which needs no gnuplot.
# Exit status: 1 if data do not fit their figure, or a picture was not drawn.
set -eu
folder=$1
shift
here=$(dirname "$0")
tab=$(printf '\t')
status=0
text=$(mktemp)
trap 'rm -f "$text" "$text.gp"' EXIT
# NAME, title, axes, style, scales, then the columns.
awk 'BEGIN { FS = " [|] " }
	function flush() { if (figure != "") print figure want; want = "" }
	/^figure / { flush(); name = $1; sub(/^figure +/, "", name); figure = name "\t" $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 }
	/^(series |published: )/ {
		label = $1
		sub(/^series +/, "", label)
		want = want "\t" label
	}
	END { flush() }' "$here/figures.txt" >"$text"
while IFS=$tab read -r name title xlabel ylabel style scales want; do
	[ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
	csv=$folder/$name.csv
	if [ ! -f "$csv" ]; then
		echo "fidelity: $csv is missing" >&2
		status=1
		continue
	fi
	case $style in pattern | cloud) want= ;; esac
	if ! awk -v want="$want" -f "$here/header.awk" "$csv" >"$text.gp"; then
		status=1
		continue
	fi
	[ -z "${PLOT_CHECK:-}" ] || continue
	svg=$folder/$name.svg
	# The title in lines of at most 88 characters.
	title=$(printf '%s\n' "$title" | fold -s -w 88 | sed 's/ *$//; s/["\\]/\\&/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')
	if gnuplot -e "csv='$csv'; out='$svg.part'; name=\"$title\"; x='$xlabel'; y='$ylabel'; style='$style'; scales='$scales'" \
		"$text.gp" "$here/plot.gp"; then
		mv "$svg.part" "$svg"
	else
		echo "fidelity: no picture $name" >&2
		rm -f "$svg.part"
		status=1
	fi
done <"$text"
exit "$status"
