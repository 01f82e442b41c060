/* Reading lists of faults. A list is counted first, so the array has the size that it needs. */
#include "vec_fault.h"

#include <stdlib.h>
#include <string.h>

static const char access_letters[] = "PRWAS"; /* in the order of enum uvmp_access */

bool vec_scan_part(const char **text, char letter, uint64_t max, uint64_t *number)
{
	const char *at = *text;

	if (*at != letter)
		return false;
	at++;
	if (!vec_scan_number(&at, max, number))
		return false;
	*text = at;
	return true;
}

bool vec_scan_access(const char **text, uint8_t *access)
{
	const char *letter = **text != '\0' ? strchr(access_letters, **text) : NULL;

	if (letter == NULL)
		return false;
	*access = (uint8_t)(letter - access_letters);
	(*text)++;
	return true;
}

char vec_access_letter(uint32_t access)
{
	return access_letters[access];
}

static size_t count_items(const char *value)
{
	size_t count = 1;

	for (; *value != '\0'; value++)
		count += *value == ',';
	return count;
}

struct uvmp_fault *vec_faults(struct vec_args *args, vec_scan_fault *scan, const char *form, uint32_t *count)
{
	const char *at = vec_text(args, "faults");
	struct uvmp_fault *fault;
	size_t items, i;

	*count = 0;
	if (at == NULL)
		return NULL;
	items = strcmp(at, "-") == 0 ? 0 : count_items(at);
	fault = calloc(items + 1u, sizeof(*fault));
	if (fault == NULL) {
		vec_fail(args, "faults: out of memory");
		return NULL;
	}
	for (i = 0; i < items; i++) {
		const char *item = at;

		if (!scan(&at, &fault[i]) || *at != (i + 1u < items ? ',' : '\0')) {
			size_t length = strcspn(item, ",");

			vec_fail(args, "faults: fault %zu, \"%.*s\", is not %s", i,
			         length < 80u ? (int)length : 80, item, form);
			free(fault);
			return NULL;
		}
		at++;
	}
	*count = (uint32_t)items;
	return fault;
}
