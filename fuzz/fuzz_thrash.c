/* Fuzzing of the thrashing detector: bytes tell a script (tests/model/thrash_case.c) that the core and the
 * naive model play; after each step hint, pages, blocks, lapse and queue must be the same. */
#include <stdio.h>
#include <stdlib.h>

#include "model/thrash_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *wrong = thrash_case_run(data, size);

	if (wrong != NULL) {
		fprintf(stderr, "fuzz_thrash: not true: %s\n", wrong);
		abort();
	}
	return 0;
}
