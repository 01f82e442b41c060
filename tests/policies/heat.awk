# A picture of all: presets by workloads and sizes, coloured by time against nvidia-595. Cells of one colour are one path.

function escaped(text) {
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	return text
}

function text(x, y, how, what) { printf "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, how, escaped(what) }

# How many of the edges lie between it and 1; within a tenth of 1 it counts as the same.
function class_of(ratio,    c, factor) {
	factor = ratio < 1 ? 1 / ratio : ratio
	for (c = 0; c < classes && factor >= edge[c + 1]; c++) ;
	return ratio < 1 ? -c : c
}

BEGIN {
	classes = split("1.1 1.5 2 4 8 16", edge, " ")
	for (c = 1; c <= classes; c++) edge[c] += 0 # else awk may compare them as text
	split("#e3edf7 #c3d9ee #95bfe0 #5e9bcb #2f74ae #0d4a86", blue, " ")
	split("#fdeadb #fbcfae #f6a778 #e97a47 #cc4a22 #952a0d", red, " ")
	base = number_of["nvidia-595"]
	left = 140; top = 120; cell = 13; gap = 6
	group = size_count * cell + gap
	width = left + workload_count * group + 20
	if (width < 740) width = 740
	height = top + preset_count * cell + 70
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"",
		width, height, width, height
	printf " font-family=\"sans-serif\" font-size=\"11\">\n"
	printf "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	text(10, 22, " font-size=\"15\"", "Time against nvidia-595: blue is faster, red slower" \
		(scale > 1 ? "; programs of " scale " times the size" : ""))
	text(10, 40, " fill=\"#555\"", "for each workload memory gets smaller from left to right: " \
		size[1] " to " size[size_count] " %; grey: not run; a dot: the least time")
	for (w = 1; w <= workload_count; w++) {
		x = left + (w - 1) * group
		printf "<text transform=\"translate(%d,%d) rotate(-35)\">%s</text>\n", x + group / 2 - 8, top - 8, escaped(workload[w])
		for (s = 1; s <= size_count; s++) {
			fastest = 0
			for (p = 1; p <= preset_count; p++) {
				time[p] = ran[w, s, p] == seeds ? median_of(w, s, p, "time_ns") : is_cut(w, s, p) ? 4 * median_of(w, s, base, "time_ns") : 0
				if (time[p] > 0 && (fastest == 0 || time[p] < fastest)) fastest = time[p]
			}
			for (p = 1; p <= preset_count; p++) {
				c = time[p] > 0 && time[base] > 0 ? class_of(time[p] / time[base]) : "none"
				at = "M" x + (s - 1) * cell " " top + (p - 1) * cell
				path[c] = path[c] at "h" cell - 1 "v" cell - 1 "h-" cell - 1 "z"
				if (time[p] > 0 && time[p] == fastest)
					dots = dots "M" x + (s - 1) * cell + 4 " " top + (p - 1) * cell + 6 "h4"
			}
		}
	}
	for (p = 1; p <= preset_count; p++) text(left - 6, top + p * cell - 3, " text-anchor=\"end\"", preset[p])
	colour[0] = "#f4f4f4"
	colour["none"] = "#999"
	for (c = 1; c <= classes; c++) {
		colour[-c] = blue[c]
		colour[c] = red[c]
	}
	for (c in path) printf "<path fill=\"%s\" d=\"%s\"/>\n", colour[c], path[c] | "sort"
	close("sort")
	printf "<path stroke=\"#000\" stroke-width=\"4\" stroke-linecap=\"round\" d=\"%s\"/>\n", dots
	y = height - 40
	for (c = -classes; c <= classes; c++) {
		x = left + (c + classes) * 44
		printf "<rect x=\"%d\" y=\"%d\" width=\"43\" height=\"13\" fill=\"%s\"/>\n", x, y, colour[c]
		label = c < 0 ? "1/" edge[-c] : c > 0 ? edge[c] : "same"
		text(x + 4, y + 27, " fill=\"#555\"", c == 0 ? label : (c < 0 ? "≤ " : "≥ ") label)
	}
	print "</svg>"
}
