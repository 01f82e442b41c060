# The fault sequence of a decision log: the pages that were brought because they faulted, in the order in which the driver serves
# them: block services one behind the other, pages ascending in each. A run is a stretch of pages in one VABlock, a delta the
# difference of the page numbers of two neighbours of a run. The driver starts a service again after each eviction that the service
# needs; so each of its pages comes once more, as in a recording of the prefetcher's decisions. A page that follows itself is no
# delta, and a run of one page that repeats is none of two pages. Output: numbers; shares and means in thousandths.
#   ev_*   pages, VABlocks, runs          run_*  mean, median, longest; shares by least length; of those of two and more pages
#   d_*    shares of deltas, by size      blk_*  of block services: to the next block, forward; of residencies: of blocks evicted
#                                                before
function field(name,    i) {
	for (i = 3; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}
function hex(text,    i, n) {
	for (i = 3; i <= length(text); i++)
		n = n * 16 + index("123456789abcdef", substr(text, i, 1))
	return n
}
function close_run() {
	if (!run_length)
		return
	runs++
	at_length[run_length]++
	if (ups || downs) {
		several++
		ascending += ups && !downs
		mixed += ups && downs
	}
	run_length = ups = downs = 0
}
function page_comes(page,    d, size) {
	events++
	if (run_length++ && page != last) {
		d = page - last
		deltas++
		if (d > 0) { forward++; ups = 1 } else { backward++; downs = 1 }
		size = d < 0 ? -d : d
		exactly[d]++
		by_size[size == 1 ? 1 : size <= 16 ? 2 : size <= 64 ? 17 : size <= 256 ? 65 : 257]++
	}
	last = page
}
# The pages of the service in hand, ascending.
function end_service(    page, times) {
	if (block == "")
		return
	if (block != run_block) {
		close_run()
		address = hex(block)
		if (run_block != "") {
			moves++
			to_next += address - run_address == 2097152
			ahead += address > run_address
		}
		run_block = block
		run_address = address
	}
	if (!(block in is_resident)) {
		is_resident[block] = 1
		residencies++
		again += block in was_evicted
	}
	if (!(block in seen)) { seen[block] = 1; blocks++ }
	for (times = 0; times <= evictions[block]; times++)
		for (page = least; page <= most; page++)
			if (page in pages)
				page_comes(page)
	delete evictions[block]
	split("", pages)
	block = ""
}
$2 == "evict" {
	end_service()
	evicted = field("block")
	delete is_resident[evicted]
	was_evicted[evicted] = 1
	evictions[field("for")]++
	next
}
$2 ~ /^(copy|populate)$/ && field("to") == "1" && field("cause") == "demand" {
	at = field("block")
	if (at != block || field("batch") != batch) {
		end_service()
		block = at; batch = field("batch"); least = 512; most = -1
	}
	count = split(field("pages"), part, ",")
	for (i = 1; i <= count; i++) {
		if (split(part[i], end, "-") == 1)
			end[2] = end[1]
		if (end[1] + 0 < least) least = end[1] + 0
		if (end[2] + 0 > most) most = end[2] + 0
		for (page = end[1] + 0; page <= end[2] + 0; page++)
			pages[page] = 1
	}
}
function share(part, all) { return all ? sprintf("%.0f", 1000 * part / all) : 0 }
function longer(from, to,    sum, i) {
	for (i = from; i <= to; i++)
		sum += at_length[i]
	return share(sum, runs)
}
END {
	end_service()
	close_run()
	for (i = 512; i > 0; i--)
		if (at_length[i]) { longest = i; break }
	for (median = 0; 2 * passed < runs; passed += at_length[++median])
		;
	print "ev_events " events + 0 "\nev_blocks " blocks + 0 "\nev_runs " runs + 0
	print "run_mean " share(events, runs) "\nrun_median " median "\nrun_most " longest + 0
	print "run_1 " longer(1, 1) "\nrun_2 " longer(2, 2) "\nrun_3 " longer(3, 4) "\nrun_5 " longer(5, 9)
	print "run_10 " longer(10, 19) "\nrun_20 " longer(20, 49) "\nrun_50 " longer(50, 99) "\nrun_100 " longer(100, 512)
	print "run_ascending " share(ascending, several) "\nrun_mixed " share(mixed, several)
	print "d_forward " share(forward, deltas) "\nd_backward " share(backward, deltas)
	print "d_1 " share(exactly[1], deltas) "\nd_2 " share(exactly[2], deltas)
	print "d_69 " share(exactly[69], deltas) "\nd_138 " share(exactly[138], deltas)
	print "d_2_16 " share(by_size[2], deltas) "\nd_17_64 " share(by_size[17], deltas)
	print "d_65_256 " share(by_size[65], deltas) "\nd_257 " share(by_size[257], deltas)
	print "blk_next " share(to_next, moves) "\nblk_forward " share(ahead, moves)
	print "blk_refault " share(again, residencies)
}
