/* model_ranges.h: how far the constants of a model may be from their values (docs/models.md).
 *
 * A model file says so in lines of its own: `range = KEY LOW..HIGH`. A draw of a model replaces each such value by a number
 * of its range. `sum = KEY KEY ...` names values whose sum is known better than they are: a draw keeps the sum. */
#ifndef UVMSIM_MODEL_RANGES_H
#define UVMSIM_MODEL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_RANGES_MAX    48u
#define MODEL_RANGE_KEY_MAX 24u

struct model_range {
	char key[MODEL_RANGE_KEY_MAX];
	uint32_t low, high; /* both are in it */
	uint32_t sum;	    /* ranges of one number, not 0, keep the sum of their values; 0: none */
	uint64_t line;	    /* in the file; 0: of an included file */
};

/* Zeros are no ranges. */
struct model_ranges {
	uint32_t count, sums;
	struct model_range range[MODEL_RANGES_MAX];
};

#define MODEL_RANGES_TEXT_MAX 160u

/* NULL: the key has no range. */
struct model_range *model_ranges_find(struct model_ranges *ranges, const char *key);
/* The value of a line `range = ...`: one more range. False with `text`: why not. */
bool model_ranges_take(struct model_ranges *ranges, const char *value, uint64_t line,
		       char text[MODEL_RANGES_TEXT_MAX]);
/* The value of a line `sum = ...`, of two or more keys that have ranges and are in no other sum. */
bool model_ranges_take_sum(struct model_ranges *ranges, const char *value, char text[MODEL_RANGES_TEXT_MAX]);
/* Adds those ranges of an included file that are kept, with their sums. False: no room. */
bool model_ranges_inherit(struct model_ranges *ranges, const struct model_ranges *from,
			  const bool is_kept[MODEL_RANGES_MAX]);

/* The number of draw `draw` for a value: half of all draws are from low..value, the others from value..high, each number
 * of a half equally often. Depends on `seed`, `draw` and the key alone. */
uint32_t model_range_draw(const struct model_range *range, uint32_t value, uint64_t seed, uint32_t draw);

#endif
