/* Fuzzing of the vector reader and of every kind. For any bytes, decide and check terminate, and
 *  - both accept or refuse the same input, with the same words;
 *  - what decide prints for accepted input is right in the eyes of check, and decide prints it again byte for
 * byte;
 *  - input of which check passes every line is printed unchanged by decide. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vectors/vec.h"

#define INPUT_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	char *bytes;
	size_t length;
};

static void require(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_vec: not true: %s\n", what);
	abort();
}

static struct text pass(void (*work)(FILE *, const char *, FILE *, struct vec_result *), void *bytes,
                        size_t length, struct vec_result *result)
{
	struct text printed = {NULL, 0};
	FILE *in = fmemopen(bytes, length, "r");
	FILE *out = open_memstream(&printed.bytes, &printed.length);

	require(in != NULL && out != NULL, "streams can be opened");
	work(in, "input", out, result);
	fclose(in);
	fclose(out);
	return printed;
}

static void compare(void *bytes, size_t length, struct text decided, const struct vec_result *checked)
{
	struct vec_result again;
	struct text printed = pass(vec_check, decided.bytes, decided.length, &again);

	require(!again.is_bad && again.failed == 0, "check passes what decide prints");
	free(printed.bytes);
	printed = pass(vec_decide, decided.bytes, decided.length, &again);
	require(printed.length == decided.length && memcmp(printed.bytes, decided.bytes, decided.length) == 0,
	        "decide prints the same again");
	free(printed.bytes);
	if (checked->failed == 0)
		require(length == decided.length && memcmp(bytes, decided.bytes, length) == 0,
		        "decide changes nothing in what check passes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vec_result checked, result;
	struct text failures, decided;
	void *bytes;

	if (size == 0 || size > INPUT_MAX)
		return 0;
	bytes = malloc(size);
	require(bytes != NULL, "memory");
	memcpy(bytes, data, size);
	failures = pass(vec_check, bytes, size, &checked);
	decided = pass(vec_decide, bytes, size, &result);
	require(checked.is_bad == result.is_bad, "decide and check accept the same");
	require(!result.is_bad || strcmp(checked.error, result.error) == 0,
	        "decide and check give the same cause");
	if (!result.is_bad)
		compare(bytes, size, decided, &checked);
	free(failures.bytes);
	free(decided.bytes);
	free(bytes);
	return 0;
}
