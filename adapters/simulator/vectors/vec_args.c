/* The words of one line, from left to right: each getter takes `key=value`, converts and validates the value.
 */
#include "vec_kind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "uvmpolicy/processor.h"

void vec_fail(struct vec_args *args, const char *format, ...)
{
	va_list list;

	if (args->failed)
		return;
	args->failed = true;
	va_start(list, format);
	vsnprintf(args->error, sizeof(args->error), format, list);
	va_end(list);
}

/* The value is not what the key accepts. A long value is cut: the line number says where the rest is. */
__attribute__((format(printf, 4, 5))) static void refuse(struct vec_args *args, const char *key,
                                                         const char *value, const char *format, ...)
{
	char accepted[256];
	va_list list;

	va_start(list, format);
	vsnprintf(accepted, sizeof(accepted), format, list);
	va_end(list);
	vec_fail(args, "%s=%.80s%s is not accepted; %s", key, value, strlen(value) > 80 ? "..." : "",
	         accepted);
}

const char *vec_text(struct vec_args *args, const char *key)
{
	size_t length = strlen(key);
	char *word;

	if (args->failed)
		return NULL;
	word = line_word(&args->words);
	if (word == NULL) {
		vec_fail(args, "the line ends where %s= must follow", key);
		return NULL;
	}
	if (strncmp(word, key, length) != 0 || word[length] != '=') {
		vec_fail(args, "\"%.80s%s\" found, %s= expected", word,
		         strlen(word) > 80 ? "..." : "", key);
		return NULL;
	}
	if (word[length + 1] == '\0') {
		vec_fail(args, "%s= has no value", key);
		return NULL;
	}
	return word + length + 1;
}

bool vec_scan_number(const char **text, uint64_t max, uint64_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (value > max)
		return false;
	*text = at;
	*number = value;
	return true;
}

uint64_t vec_number(struct vec_args *args, const char *key, uint64_t min, uint64_t max)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	uint64_t number;

	if (value == NULL)
		return 0;
	if (vec_scan_number(&at, max, &number) && *at == '\0' && number >= min)
		return number;
	refuse(args, key, value, "%llu..%llu, decimal, without leading zeros", (unsigned long long)min,
	       (unsigned long long)max);
	return 0;
}

bool vec_flag(struct vec_args *args, const char *key)
{
	return vec_number(args, key, 0, 1) == 1;
}

uint32_t vec_proc(struct vec_args *args, const char *key)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	uint64_t number;

	if (value == NULL)
		return 0;
	if (strcmp(value, "none") == 0)
		return UVMP_PROC_NONE;
	if (vec_scan_number(&at, UVMP_PROCS_MAX - 1u, &number) && *at == '\0')
		return (uint32_t)number;
	refuse(args, key, value, "0 (CPU), 1..%u (GPUs) or none", UVMP_PROCS_MAX - 1u);
	return 0;
}

uint32_t vec_choice(struct vec_args *args, const char *key, const char *const *names)
{
	const char *value = vec_text(args, key);
	char accepted[200] = "";

	if (value == NULL)
		return 0;
	for (uint32_t i = 0; names[i] != NULL; i++) {
		size_t length = strlen(accepted);

		if (strcmp(value, names[i]) == 0)
			return i;
		snprintf(accepted + length, sizeof(accepted) - length, "%s%s", i == 0 ? "" : ", ", names[i]);
	}
	refuse(args, key, value, "one of %s", accepted);
	return 0;
}

/* One `first` or `first-last` of a set; `next` is the least number that may stand here. Returns false if
 * there is none. */
static bool scan_range(const char **text, uint64_t next, uint64_t limit, struct vec_range *range)
{
	if (!vec_scan_number(text, limit - 1, &range->first) || range->first < next)
		return false;
	range->last = range->first;
	if (**text != '-')
		return true;
	(*text)++;
	return vec_scan_number(text, limit - 1, &range->last) && range->last > range->first;
}

size_t vec_set(struct vec_args *args, const char *key, uint64_t limit, struct vec_range **ranges)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	size_t count = 0, capacity = 0;
	uint64_t next = 0;

	*ranges = NULL;
	if (value == NULL || strcmp(value, "-") == 0)
		return 0;
	while (limit > 0) {
		if (count == capacity) {
			capacity = capacity * 2 + 8;
			*ranges = vec_grow(*ranges, capacity, sizeof(**ranges));
		}
		if (!scan_range(&at, next, limit, &(*ranges)[count]))
			break;
		/* Neighbouring runs would have been one run, so the next one starts behind a gap. */
		next = (*ranges)[count].last < UINT64_MAX - 1 ? (*ranges)[count].last + 2 : UINT64_MAX;
		count++;
		if (*at == '\0')
			return count;
		if (*at++ != ',')
			break;
	}
	free(*ranges);
	*ranges = NULL;
	if (limit == 0)
		refuse(args, key, value, "only - here");
	else
		refuse(args, key, value,
		       "a set of numbers 0..%llu: ascending, longest runs first-last, - if empty",
		       (unsigned long long)(limit - 1));
	return 0;
}

void vec_mask(struct vec_args *args, const char *key, uint32_t limit, uvmp_mask *mask, bool *is_none)
{
	size_t length = strlen(key);
	struct vec_range *ranges;
	size_t count;

	uvmp_mask_zero(mask);
	if (is_none != NULL)
		*is_none = !args->failed && strncmp(args->words, key, length) == 0 &&
		           strncmp(args->words + length, "=none", 5) == 0 &&
		           (args->words[length + 5] == ' ' || args->words[length + 5] == '\0');
	if (is_none != NULL && *is_none) {
		vec_text(args, key);
		return;
	}
	count = vec_set(args, key, limit <= UVMP_MASK_BITS ? limit : UVMP_MASK_BITS, &ranges);
	for (size_t i = 0; i < count; i++) {
		struct uvmp_region region = {(uint32_t)ranges[i].first, (uint32_t)ranges[i].last + 1};

		uvmp_mask_region_set(mask, region);
	}
	free(ranges);
}

size_t vec_list(struct vec_args *args, const char *key, uint64_t min, uint64_t max, uint64_t **numbers)
{
	const char *value = vec_text(args, key);
	const char *at = value;
	size_t count = 0, capacity = 0;

	*numbers = NULL;
	if (value == NULL || strcmp(value, "-") == 0)
		return 0;
	for (;;) {
		if (count == capacity) {
			capacity = capacity * 2 + 8;
			*numbers = vec_grow(*numbers, capacity, sizeof(**numbers));
		}
		if (!vec_scan_number(&at, max, &(*numbers)[count]) || (*numbers)[count] < min)
			break;
		count++;
		if (*at == '\0')
			return count;
		if (*at++ != ',')
			break;
	}
	free(*numbers);
	*numbers = NULL;
	refuse(args, key, value, "numbers %llu..%llu separated by commas, - if empty",
	       (unsigned long long)min, (unsigned long long)max);
	return 0;
}
