/* The tree prefetchers (tbn and sl) against the naive model, over scripts of faults, arrivals and evictions.
 * The bytes are read as in tests/model/tbn_case.c. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/tbn_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!tbn_case_run(data, size))
		abort();
	return 0;
}
