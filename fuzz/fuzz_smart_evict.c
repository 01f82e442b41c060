/* UVM Smart's eviction against the naive model, over scripts of arrivals, accesses, evictions and writes. The
 * bytes are read as in tests/model/smart_evict_case.c. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/smart_evict_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	if (!smart_evict_case_run(data, size))
		abort();
	return 0;
}
