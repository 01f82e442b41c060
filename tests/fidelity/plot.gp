# One picture from one CSV file, whose header plot.sh has checked. Variables: csv, n (its columns), first (the first column of
# published figures; n + 1 if there is none), rows, label[] and beside[] of its columns (header.awk), out, name (title), x, y (axes),
# style, scales.
#   lines    columns 3 and up over column 1, labelled by column 2; scales: x, y, xy logarithmic, - none
#   stacked  columns 3 and up on top of each other, a bar for each row, column 2 as its label
#   bars     the same side by side
#   cloud    column 2 over column 1, as points
#   pattern  columns 2 and 3 over column 1, as points
# Published figures are black marks.
set terminal svg size 760,460 font "sans-serif,12" background "white" noenhanced
set output out
set datafile separator ","
set title name font ",13"
set xlabel x
set ylabel y
set key outside top center horizontal samplen 2
set border 3
set tics nomirror
set grid ytics lc rgb "#dddddd"
# Dark enough on white, and different in brightness.
array colour[8] = ["#1f4e9c", "#c1440e", "#2a8a57", "#7b3294", "#8c6d1f", "#5f6b73", "#b0236b", "#0f8a9d"]
do for [i = 1:8] { set linetype i lc rgb colour[i] }
set linetype cycle 8
mark(i) = (i - first) % 6 == 0 ? 9 : (i - first) % 6 == 1 ? 11 : (i - first) % 6 == 2 ? 13 : (i - first) % 6 == 3 ? 5 : (i - first) % 6 == 4 ? 7 : 3
if (scales eq "x" || scales eq "xy") { set logscale x }
if (scales eq "y" || scales eq "xy") { set logscale y; set format y "%g" } else { if (style ne "pattern") { set yrange [0:*] } }
# A loop over nothing still plots once, so that the published columns need a branch.
if (style eq "lines") {
	set offsets graph 0.03, graph 0.03, 0, 0
	if (first > n) {
		plot for [i = 3:n] csv skip 1 using 1:i:xtic(2) with linespoints lw 2 pt 7 ps 0.5 title label[i]
	} else {
		plot for [i = 3:first - 1] csv skip 1 using 1:i:xtic(2) with linespoints lw 2 pt 7 ps 0.5 title label[i], \
			for [i = first:n] csv skip 1 using 1:i with points pt mark(i) ps 1.2 lc rgb "black" title label[i]
	}
}
if (style eq "stacked" || style eq "bars") {
	set style data histograms
	if (style eq "stacked") { set style histogram rowstacked; set boxwidth 0.7 } else { set style histogram clustered gap 1 }
	set style fill solid 0.85
	set xtics rotate by -40
	set xrange [-0.7:rows - 0.3]
	if (first > n) {
		plot for [i = 3:n] csv skip 1 using i:xtic(2) lt i - 2 title label[i]
	} else {
		plot for [i = 3:first - 1] csv skip 1 using i:xtic(2) lt i - 2 title label[i], \
			for [i = first:n] csv skip 1 using ($0 + beside[i]):i with points pt mark(i) ps 1.1 lc rgb "black" title label[i]
	}
}
if (style eq "pattern") {
	if (n == 2) { plot csv skip 1 using 1:2 with points pt 7 ps 0.35 title "fault" }
	else { plot csv skip 1 using 1:2 with points pt 7 ps 0.35 title "fault", csv skip 1 using 1:3 with points pt 2 ps 0.5 title "eviction" }
}
if (style eq "cloud") {
	plot csv skip 1 using 1:2 with points pt 7 ps 0.4 notitle
}
