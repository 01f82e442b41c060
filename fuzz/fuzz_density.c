/* The density prefetcher and its ATS variant against the naive model. The bytes are read as in
 * tests/model/density_case.h. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/density_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct density_case c;

	density_case_read(&c, data, size);
	if (!density_case_agrees(&c) || !density_case_agrees_ats(&c))
		abort();
	return 0;
}
