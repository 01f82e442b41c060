/* Digits from the left, units from the right. */
#include "number.h"

#include <stdio.h>
#include <string.h>

static const char units[] = "KMGT";

bool number_parse(const char *text, size_t length, uint64_t *number)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (text[i] < '0' || text[i] > '9' || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (length == 0)
		return false;
	*number = value;
	return true;
}

bool number_parse_size(const char *text, size_t length, uint64_t *bytes)
{
	bool has_bytes = length > 1 && text[length - 1] == 'B';
	bool has_binary = has_bytes && length > 3 && text[length - 2] == 'i';
	size_t digits = length - has_bytes - has_binary;
	const char *unit = digits > 1 ? memchr(units, text[digits - 1] & ~0x20, strlen(units)) : NULL;
	unsigned shift = 0;
	uint64_t value;

	if (unit != NULL) {
		shift = 10 * ((unsigned)(unit - units) + 1);
		digits--;
	} else if (has_binary) { /* `iB` without a unit */
		return false;
	}
	if (!number_parse(text, digits, &value) || value > UINT64_MAX >> shift)
		return false;
	*bytes = value << shift;
	return true;
}

void number_print_size(char text[NUMBER_TEXT_MAX], uint64_t bytes)
{
	char suffix[2] = "";
	unsigned unit = 0;

	while (bytes != 0 && bytes % 1024 == 0 && unit < strlen(units)) {
		bytes /= 1024;
		unit++;
	}
	if (unit != 0)
		suffix[0] = units[unit - 1];
	snprintf(text, NUMBER_TEXT_MAX, "%llu%s", (unsigned long long)bytes, suffix);
}
