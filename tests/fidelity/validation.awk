# Which published figures chose a constant (calibration) and which did not (validation). Reads calibration.txt, rows.txt,
# results.txt and, with -v list=1, nothing else: prints a line for each GPU, for `uvmsim list gpus`. Without it, reads
# the page last and prints it with the text between `<!-- results -->` and `<!-- end of results -->` made again.
# Variable models: the folder of the models.
function rate(inside, all) { return inside + 0 " of " all + 0 " | " (all ? sprintf("%.0f %%", 100 * inside / all) : "") }
# The GPUs of the runs that an expression names, between blanks.
function gpus_of(expression,    name, gpus) {
	gpus = " "
	while (match(expression, /[(][a-zA-Z0-9_$.-]+[)]/)) {
		name = substr(expression, RSTART + 1, RLENGTH - 2)
		expression = substr(expression, RSTART + RLENGTH)
		if (name in gpu && index(gpus, " " gpu[name] " ") == 0)
			gpus = gpus gpu[name] " "
	}
	return gpus
}
# Does a line of calibration.txt match the row? Counts for each that does.
function calibrates(id, verdict,    i, does) {
	for (i = 1; i <= constants; i++)
		if (id ~ "^(" pattern[i] ")$") {
			does = 1
			matched[i]++
			counted[i] += verdict == "inside" || verdict == "misses"
			inside[i] += verdict == "inside"
		}
	return does + 0
}
# Are the figures of the row those of another GPU, for which this model stands in?
function stands_in(name, id) { return name in stand_in && id ~ "^(" stand_in[name] ")$" }
function count(key, calibrated, verdict) {
	all[key, calibrated]++
	good[key, calibrated] += verdict == "inside"
}
# Kinds of sources, by how the comment behind a constant begins. 0: of no known kind.
function kind_of(text) {
	if (text ~ /^calibrated/)
		return 3
	if (text ~ /^(estimate|estimated share)/)
		return 4
	if (text ~ /^([0-9,]+ ns, )?(inherited|extrapolated)/)
		return 5
	if (text ~ /^(free there|no limit|none is given|nothing|no matter|no second|part of|NVIDIA's fault buffer has none)/ ||
	    text ~ /^(the (driver|simulated|original)|its (published|units))/)
		return 6
	if (text ~ /^(as |the same|computed|[0-9,.* ]+MHz|[0-9,]+ ns, computed)/)
		return 2
	if (text ~ /^([A-Z][a-z]+ et al[.]|[A-Z][a-z]+ whitepaper|([A-Z0-9]+ )?data sheet|CUDA programming guide)/ ||
	    text ~ /^(NVIDIA (blog|driver)|SAND2022-1528|UVM Smart:)/)
		return 1
	if (text ~ /^((table|section|footnote|specification) [0-9]|uvm-smart specification|configuration)/ ||
	    text ~ /^(the (logs|paper|report)|nvprof logs)/)
		return 1
	if (text ~ /^(deviceQuery|[0-9]+ GB: |[0-9][0-9.,]*( ns| us| cycles|$)|start-up of a copy)/ ||
	    text ~ /^(in the order of their times|a TLB for each SM|coherent: |x86$)/)
		return 1
	return 0
}
function read_model(file,    line, comment, key) {
	while ((getline line < (models "/" file)) > 0) {
		if (line !~ /^[a-z0-9_]+ = / || line ~ /^(title|source|link|include|range|sum|formula) =/)
			continue
		comment = line
		if (!sub(/^[^#]*# */, "", comment))
			comment = ""
		if (kind_of(comment) == 0) {
			sub(/ =.*/, "", line)
			print models "/" file ": " line ": the comment \"" comment "\" begins with no kind of source;" \
				" see kind_of in validation.awk" > "/dev/stderr"
			unknown++
		}
		kinds[file, kind_of(comment)]++
	}
	close(models "/" file)
}
function tables(    i, k, file, name) {
	print "\n| | rows | inside | |\n|---|---|---|---|"
	print "| calibration | " all["", 1] + 0 " | " rate(good["", 1], all["", 1]) " |"
	print "| validation | " all["", 0] + 0 " | " rate(good["", 0], all["", 0]) " |"
	print "| all | " all["", 0] + all["", 1] " | " rate(good["", 0] + good["", 1], all["", 0] + all["", 1]) " |"
	print "\n| source | calibration: inside | | validation: inside | | all: inside | |\n|---|---|---|---|---|---|---|"
	for (i = 1; i <= headings; i++) {
		name = heading[i]
		print "| " name " | " rate(good[name, 1], all[name, 1]) " | " rate(good[name, 0], all[name, 0]) " | " \
			rate(good[name, 0] + good[name, 1], all[name, 0] + all[name, 1]) " |"
	}
	print "\n| GPU model | calibration: inside | | validation: inside | |\n|---|---|---|---|---|"
	for (i = 1; i <= files; i++) {
		name = model[i]
		if (sub(/[.]gpu$/, "", name))
			print "| " name " | " rate(good["gpu " name, 1], all["gpu " name, 1]) " | " rate(good["gpu " name, 0], all["gpu " name, 0]) " |"
	}
	print "\n| constants | how | by rows | of them counted | inside |\n|---|---|---|---|---|"
	for (i = 1; i <= constants; i++)
		print "| " constant[i] " | " how[i] " | " matched[i] + 0 " | " counted[i] + 0 " | " inside[i] + 0 " |"
	print "\n| model file | published or measured | computed, or as another | calibrated | estimate | inherited |" \
		" not in the original |\n|---|---|---|---|---|---|---|"
	for (i = 1; i <= files; i++) {
		file = "| " model[i]
		for (k = 1; k <= 6; k++)
			file = file " | " kinds[model[i], k] + 0
		print file " |"
	}
	print ""
}
BEGIN {
	FS = " [|] "
	command = "LC_ALL=C ls " models
	while ((command | getline name) > 0)
		if (name ~ /[.](gpu|host|link)$/) {
			model[++files] = name
			read_model(name)
		}
	close(command)
}
FILENAME ~ /calibration/ && /^stand-in / { split($1, word, " "); stand_in[word[2]] = $2; next }
FILENAME ~ /calibration/ && /^[a-z]/ {
	constant[++constants] = $1; pattern[constants] = $2; how[constants] = $3
	next
}
FILENAME ~ /calibration/ { next }
FILENAME ~ /rows/ && /^## / { name = substr($0, 4); heading[++headings] = name; next }
FILENAME ~ /rows/ && /^(run|long) / {
	split($0, word, " ")
	if (match($0, /--gpu [^ :]+/))
		gpu[word[2]] = substr($0, RSTART + 6, RLENGTH - 6)
	next
}
FILENAME ~ /rows/ && /^row / { id = $1; sub(/^row +/, "", id); of[id] = name; expression[id] = $6; next }
FILENAME ~ /rows/ { next }
FILENAME ~ /results/ {
	split($0, field, "\t")
	by = calibrates(field[1], field[3])
	n = split(gpus_of(expression[field[1]]), names, " ")
	for (i = 1; i <= n; i++)
		chose[names[i]] += by
	if (field[3] != "inside" && field[3] != "misses")
		next
	count("", by, field[3])
	count(of[field[1]], by, field[3])
	for (i = 1; i <= n; i++)
		if (!stands_in(names[i], field[1]))
			count("gpu " names[i], by, field[3])
	next
}
/^<!-- results -->/ { print; tables(); skipping = 1; next }
/^<!-- end of results -->/ { skipping = 0 }
!skipping { print }
END {
	if (unknown)
		exit 1
	if (!list)
		exit
	print "# GPU, then published figures of this GPU that validate it: inside, all; and figures that chose its constants."
	print "# Made by make fidelity-figures from tests/fidelity."
	for (i = 1; i <= files; i++) {
		name = model[i]
		if (sub(/[.]gpu$/, "", name))
			print name, good["gpu " name, 0] + 0, all["gpu " name, 0] + 0, chose[name] + 0
	}
}
