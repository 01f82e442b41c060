/* Ranges of the constants of models: lines of files, and draws. */
#include "model_ranges.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

struct model_range *model_ranges_find(struct model_ranges *ranges, const char *key)
{
	for (uint32_t i = 0; i < ranges->count; i++)
		if (strcmp(ranges->range[i].key, key) == 0)
			return &ranges->range[i];
	return NULL;
}

/* The word at *text, up to a blank or the end; moves *text to the next word. Returns its length. */
static size_t next_word(const char **text, const char **word)
{
	size_t length = strcspn(*text, " ");

	*word = *text;
	*text += length;
	*text += strspn(*text, " ");
	return length;
}

static bool take_bounds(struct model_range *range, const char *word, size_t length)
{
	const char *dots = strstr(word, "..");
	uint64_t low, high;

	if (!dots || dots >= word + length || number_decimal(word, (size_t)(dots - word), &low) != NUMBER_OK ||
	    number_decimal(dots + 2, length - (size_t)(dots + 2 - word), &high) != NUMBER_OK ||
	    low > high || high > UINT32_MAX)
		return false;
	range->low = (uint32_t)low;
	range->high = (uint32_t)high;
	return true;
}

bool model_ranges_take(struct model_ranges *ranges, const char *value, uint64_t line,
		       char text[MODEL_RANGES_TEXT_MAX])
{
	struct model_range *range = &ranges->range[ranges->count];
	const char *key, *bounds;
	size_t length = next_word(&value, &key), bounds_length = next_word(&value, &bounds);

	if (ranges->count == MODEL_RANGES_MAX) {
		snprintf(text, MODEL_RANGES_TEXT_MAX, "more than %u ranges", MODEL_RANGES_MAX);
		return false;
	}
	memset(range, 0, sizeof(*range));
	range->line = line;
	if (length >= MODEL_RANGE_KEY_MAX || *value != '\0' || !take_bounds(range, bounds, bounds_length)) {
		snprintf(text, MODEL_RANGES_TEXT_MAX, "range: KEY LOW..HIGH, whole numbers, LOW at most HIGH");
		return false;
	}
	memcpy(range->key, key, length);
	if (model_ranges_find(ranges, range->key)) {
		snprintf(text, MODEL_RANGES_TEXT_MAX, "range: %s has a range already", range->key);
		return false;
	}
	ranges->count++;
	return true;
}

static bool join_sum(struct model_ranges *ranges, const char *key, size_t length, char text[MODEL_RANGES_TEXT_MAX])
{
	char name[MODEL_RANGE_KEY_MAX] = "";
	struct model_range *range = NULL;

	if (length < sizeof(name)) {
		memcpy(name, key, length);
		range = model_ranges_find(ranges, name);
	}
	if (!range || range->sum != 0) {
		snprintf(text, MODEL_RANGES_TEXT_MAX, range ? "sum: %.*s is in a sum already" : "sum: %.*s has no range above",
			 length < 60 ? (int)length : 60, key);
		return false;
	}
	range->sum = ranges->sums;
	return true;
}

bool model_ranges_take_sum(struct model_ranges *ranges, const char *value, char text[MODEL_RANGES_TEXT_MAX])
{
	unsigned keys = 0;

	for (ranges->sums++; *value != '\0'; keys++) {
		const char *key;
		size_t length = next_word(&value, &key);

		if (!join_sum(ranges, key, length, text))
			return false;
	}
	if (keys < 2)
		snprintf(text, MODEL_RANGES_TEXT_MAX, "sum: two keys or more");
	return keys >= 2;
}

bool model_ranges_inherit(struct model_ranges *ranges, const struct model_ranges *from,
			  const bool is_kept[MODEL_RANGES_MAX])
{
	for (uint32_t i = 0; i < from->count; i++) {
		struct model_range *copy = &ranges->range[ranges->count];

		if (!is_kept[i])
			continue;
		if (ranges->count == MODEL_RANGES_MAX)
			return false;
		*copy = from->range[i];
		copy->line = 0;
		copy->sum += copy->sum != 0 ? ranges->sums : 0;
		ranges->count++;
	}
	ranges->sums += from->sums;
	return true;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint32_t model_range_draw(const struct model_range *range, uint32_t value, uint64_t seed, uint32_t draw)
{
	uint64_t random = seed;
	uint32_t width;

	for (const char *at = range->key; *at != '\0'; at++)
		random = mix(random + (unsigned char)*at + UINT64_C(0x9e3779b97f4a7c15));
	random = mix(random + draw * UINT64_C(0x9e3779b97f4a7c15));
	width = random >> 63 != 0 ? range->high - value : value - range->low;
	width = (uint32_t)((random & UINT32_MAX) * (width + UINT64_C(1)) >> 32);
	return random >> 63 != 0 ? value + width : value - width;
}
