/* A script for the prefetcher forest, read from bytes: random ones in the property test, a fuzzer's in fuzz_forest. Any
 * bytes make a script.
 *
 * Bytes 0 to 14: size of pages, where the range lies in the address space, how many pages it has, of which part, and the
 * numbers of the prefetcher. Then commands: batches of faults in runs of equal steps, runs of accesses, evictions,
 * beginnings of kernels.
 */
#ifndef FOREST_SCRIPT_H
#define FOREST_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What scripts have reached; only counted. */
struct forest_script_stats {
	uint64_t decisions[4], classes[4]; /* by class */
	uint64_t follows, grown, density, kernels;
};

/* Does the library fetch what the naive model fetches, and learn what it learns, at each step? */
bool forest_script_agrees(const uint8_t *data, size_t size, struct forest_script_stats *stats);

#endif
