/* A script for the prefetchers stride, next, pattern and safe, read from bytes: random ones in the property
 * tests, a fuzzer's in fuzz_prefetch. Any bytes make a script.
 *
 * Bytes 0 to 16: prefetcher, block size, number of blocks, how much shorter the last is, the numbers of the
 * prefetcher, preferred location, quirks. Then commands: one in eight evicts a block and notes what was touched,
 * the others are batches of faults, in one or two runs of equal steps.
 */
#ifndef PREFETCH_SCRIPT_H
#define PREFETCH_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the library fetch what the naive models fetch at each step, from equal states to equal states, and with
 * as many questions as it may ask? */
bool prefetch_script_agrees(const uint8_t *data, size_t size);

#endif
