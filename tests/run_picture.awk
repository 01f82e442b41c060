# Draws a decision log as text: one row per VABlock, time from left to right.
# usage: awk -v columns=N -f run_picture.awk LOG LOG      (the log is read twice)
# Cells, by precedence: # fetched again after an eviction, + fetched for the first time, x evicted, . resident.
function value(key, i) {
	for (i = 3; i <= NF; i++)
		if (index($i, key "=") == 1)
			return substr($i, length(key) + 2)
	return ""
}

# Blocks that are resident at the end of a column show it, unless something happened to them there.
function fill(last, block) {
	for (; column < last; column++)
		for (block in resident)
			if (!((block, column) in cell))
				cell[block, column] = "."
}

BEGIN { column = 0 }
FNR == NR {
	if ($2 == "batch")
		batches = value("batch")
	if ($2 == "copy" && !(value("block") in seen)) {
		block = value("block")
		seen[block] = 1
		for (i = blocks++; i > 0 && row[i - 1] > block; i--) # addresses have one length: text sorts as numbers do
			row[i] = row[i - 1]
		row[i] = block
	}
	next
}
$2 == "batch" { fill(int((value("batch") - 1) * columns / batches)) }
$2 == "copy" && value("to") == 1 {
	block = value("block")
	resident[block] = 1
	if (block in evicted)
		cell[block, column] = "#"
	else if (cell[block, column] != "#")
		cell[block, column] = "+"
}
$2 == "evict" {
	block = value("block")
	evicted[block] = 1
	delete resident[block]
	if (!((block, column) in cell))
		cell[block, column] = "x"
}
END {
	if (!blocks || !batches) {
		print "run_picture.awk: the log has no batch or no copy" >"/dev/stderr"
		exit 1
	}
	fill(columns)
	for (i = 0; i < blocks; i++) {
		line = ""
		for (c = 0; c < columns; c++)
			line = line ((row[i], c) in cell ? cell[row[i], c] : " ")
		printf " %s%s |%s|\n", i ? "      " : "block ", i, line
	}
	printf "          fault batch 1%*s\n", columns - 13, "fault batch " batches
}
