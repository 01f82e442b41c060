/* The prefetchers stride, next, pattern and safe against their naive models. The bytes are read as in
 * tests/model/prefetch_script.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/prefetch_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!prefetch_script_agrees(data, size))
		abort();
	return 0;
}
