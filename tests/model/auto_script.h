/* A script for the prefetcher auto, read from bytes: random ones in the property test, a fuzzer's in fuzz_auto. Any bytes make
 * a script.
 *
 * The first bytes say: size of pages, ranges, their blocks, the numbers of the prefetcher, memory, the time at which the script
 * begins. Then commands: batches of faults, evictions, pages that come elsewhere. */
#ifndef AUTO_SCRIPT_H
#define AUTO_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What scripts have reached; only counted. */
struct auto_script_stats {
	uint64_t decisions[3], modes[3]; /* by mode of the stay, of the range */
	uint64_t probes, parts, wraps, patience, prices, density, small, ahead, chains;
	uint64_t fits, credits; /* while all data fit: walks of several blocks; credits above the limit */
	uint64_t opened, opened_most; /* blocks that came with first ones of ranges: some; as many as may */
	uint64_t checks; /* streams that went on, of which nothing came ahead */
	uint64_t digest; /* of all states and answers */
};

/* Does the library fetch what the naive model fetches, and learn what it learns, at each step? */
bool auto_script_agrees(const uint8_t *data, size_t size, struct auto_script_stats *stats);

#endif
