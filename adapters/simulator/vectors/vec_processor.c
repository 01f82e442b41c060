/* Values of several processors. A part of such a value is read by the getter of whole values, for which it is
 * made a word of its own. */
#include "vec_processor.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

uint64_t vec_proc_set(struct vec_args *args, const char *key)
{
	uvmp_mask mask;

	vec_mask(args, key, UVMP_PROCS_MAX, &mask, NULL);
	return mask.word[0];
}

static void take_part(struct vec_args *args, const char *key, const char *part, size_t length, uint32_t limit,
                      uvmp_mask *row)
{
	size_t bytes = strlen(key) + length + 2;
	struct vec_args piece = {.words = malloc(bytes)};
	char *word = piece.words;

	if (word == NULL) {
		vec_fail(args, "out of memory");
		return;
	}
	snprintf(word, bytes, "%s=%.*s", key, (int)length, part);
	vec_mask(&piece, key, limit, row, NULL);
	if (piece.failed)
		vec_fail(args, "%s", piece.error);
	free(word);
}

void vec_mask_rows(struct vec_args *args, const char *key, uint32_t count, uint32_t limit, uvmp_mask *rows)
{
	const char *part = vec_text(args, key);

	for (uint32_t i = 0; i < count; i++)
		uvmp_mask_zero(&rows[i]);
	for (uint32_t i = 0; i < count && !args->failed; i++) {
		size_t length = strcspn(part, "/");

		take_part(args, key, part, length, limit, &rows[i]);
		part += length;
		if ((*part == '/') != (i + 1 < count))
			vec_fail(args, "%s= needs one set per processor, %u separated by /", key, count);
		else if (*part == '/')
			part++;
	}
}

void vec_proc_rows(struct vec_args *args, const char *key, uint32_t count, uint64_t *rows)
{
	uvmp_mask masks[UVMP_PROCS_MAX];

	vec_mask_rows(args, key, count, count, masks);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = masks[i].word[0];
}
