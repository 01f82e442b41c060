/* Fuzzing of remote=auto (uvmp_remote_pays, uvmp_remote_begins of counter.h): bytes give a script, after each step
 * of which the naive model gives the same answer for all sizes. */
#include "model/naive_return.h"
#include "script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = {data, size, 0};

	if (size == 0 || size > INPUT_MAX)
		return 0;
	hold(naive_return_compare(draw, is_over, &source), "the model's answers");
	source.at = 0;
	hold(naive_start_compare(draw, is_over, &source), "the model's answers to first faults");
	return 0;
}
