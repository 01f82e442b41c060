# The line `run,...` of a simulated run: reads the numbers of its report (`key value`), then its decision log. What a profiler
# reports of a real GPU: the kernel's time, fault groups, faults, and of each group the blocks and pages that were mapped and moved.
function field(name,    i) {
	for (i = 3; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}
function pages(    count, part, end, i, sum) {
	count = split(field("pages"), part, ",")
	for (i = 1; i <= count; i++)
		sum += split(part[i], end, "-") == 2 ? end[2] - end[1] + 1 : 1
	return sum
}
NF == 2 { value[$1] = $2; next }
$2 == "map" && field("to") == 1 { blocks++; mapped += pages() }
$2 == "unmap" && field("to") == 0 { moved_blocks++ }
$2 == "copy" && field("to") == 1 { moved += pages() }
END {
	printf "run,%s,%d,0,%d,%d,%d,%d,%d,%d,%d\n", name, value["kernel_ns"], value["batches"],
		value["faults_raw"], value["faults_serviced"], blocks, mapped, moved_blocks, moved
}
