/* The prefetcher auto against its naive model. The bytes are read as in tests/model/auto_script.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/auto_script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auto_script_stats stats = {0};

	if (!auto_script_agrees(data, size, &stats))
		abort();
	return 0;
}
