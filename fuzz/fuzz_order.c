/* Fuzzing of order, bins and verdicts: bytes become representatives (tests/model/fault_case.c), the
 * naive model does the same. */
#include <stdio.h>
#include <stdlib.h>

#include "model/fault_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *wrong = fault_case_order(data, size);

	if (wrong != NULL) {
		fprintf(stderr, "fuzz_order: not true: %s\n", wrong);
		abort();
	}
	return 0;
}
