# One picture from one CSV file. Variables: csv, n (its columns), out, name (title), x, y (axes), style, scales.
#   lines    columns 3 and up over column 1; scales: x, y, xy logarithmic, - none
#   stacked  columns 3 and up on top of each other, a bar for each row, column 2 as its label
#   bars     the same side by side
#   cloud    column 2 over column 1, as points
#   pattern  columns 2 and 3 over column 1, as points
set terminal svg size 640,400 font "sans-serif,12" background "white"
set output out
set datafile separator ","
set title name font ",13" noenhanced
set xlabel x noenhanced
set ylabel y noenhanced
set key outside below noenhanced
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror
if (scales eq "x" || scales eq "xy") { set logscale x; set format x "%.0s%c" }
if (scales eq "y" || scales eq "xy") { set logscale y; set format y "%.0s %c" }
if (style eq "lines") {
	plot for [i = 3:n] csv using 1:i with linespoints lw 2 pt 7 ps 0.5 title columnheader(i)
}
if (style eq "stacked") {
	set style data histograms
	set style histogram rowstacked
	set style fill solid 0.8
	set boxwidth 0.7
	set xtics rotate by -40
	plot for [i = 3:n] csv using i:xtic(2) title columnheader(i)
}
if (style eq "bars") {
	set style data histograms
	set style histogram clustered gap 1
	set style fill solid 0.8
	set xtics rotate by -40
	plot for [i = 3:n] csv using i:xtic(2) title columnheader(i)
}
if (style eq "pattern") {
	if (n == 2) { plot csv using 1:2 with points pt 7 ps 0.25 title "fault" }
	else { plot csv using 1:2 with points pt 7 ps 0.25 title "fault", csv using 1:3 with points pt 2 ps 0.5 title "eviction" }
}
if (style eq "cloud") {
	plot csv using 1:2 with points pt 7 ps 0.3 notitle
}
