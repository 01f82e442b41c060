# Finds what makes an SVG figure of plot.gp hard to read: subscripts, yellow on white, prefixes such as 100 m before a unit, and a
# line of the title that is wider than the figure. Prints one line per finding; exit status 1 if there is one.
function finding(text) {
	print FILENAME ": " text
	found = 1
}
FNR == 1 { is_title = 0 }
/ dy="/ { finding("a subscript: " $0) }
/rgb\(240, *228, *66\)/ { finding("yellow on white") }
/font-size="13\.00"/ { is_title = 1 }
/>[0-9.]+ [a-zA-Z]</ { finding("a number with a prefix: " $0) }
/<text>/ {
	text = $0
	gsub(/<[^>]*>|^[ \t]+/, "", text)
	gsub(/&[a-z]+;/, "x", text)
	if (is_title && length(text) > 90)
		finding("a title of " length(text) " characters is cut")
	is_title = 0
}
END { exit found }
