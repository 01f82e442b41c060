/* Fuzzing of the memory manager: bytes are a script of allocations, marks, frees and evictions
 * (tests/model/naive_pmm.c), the naive model does the same. */
#include <stdlib.h>

#include "model/naive_pmm.h"

#define STEPS_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 3u * STEPS_MAX)
		size = 3u * STEPS_MAX;
	if (!naive_pmm_script(data, size))
		abort();
	return 0;
}
