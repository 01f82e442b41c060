/* Digits from the left, units from the right. */
#include "number.h"

#include <stdio.h>
#include <string.h>

static const char units[] = "KMGT";

/* The value of a digit, plus 1; 0: the character is no digit in any base. */
static const unsigned char digit_of[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,	['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

/* The digits of a constant base. Any `safe` digits fit 64 bits: only longer numbers are checked. */
static inline const char *read_digits(const char *at, const char *end, unsigned base, ptrdiff_t safe,
				      uint64_t *number, bool *is_large)
{
	const char *checked = end - at > safe ? at + safe : end;
	unsigned digit = 0;

	*number = 0;
	*is_large = false;
	for (; at < checked && (digit = digit_of[(unsigned char)*at] - 1u) < base; at++)
		*number = *number * base + digit;
	for (; at < end && digit < base && (digit = digit_of[(unsigned char)*at] - 1u) < base; at++) {
		*is_large = *is_large || *number > (UINT64_MAX - digit) / base;
		*number = *number * base + digit;
	}
	return at;
}

enum number_status number_read(const char **text, const char *end, unsigned base, uint64_t *number)
{
	uint64_t value;
	bool is_large;
	const char *at = base == 16 ? read_digits(*text, end, 16, 16, &value, &is_large)
				    : read_digits(*text, end, 10, 19, &value, &is_large);

	if (at == *text)
		return NUMBER_BAD;
	*text = at;
	*number = is_large ? UINT64_MAX : value;
	return is_large ? NUMBER_TOO_LARGE : NUMBER_OK;
}

static enum number_status read_whole(const char *text, size_t length, unsigned base, uint64_t *number)
{
	const char *end = text + length;
	uint64_t value;
	enum number_status status = number_read(&text, end, base, &value);

	if (status == NUMBER_BAD || text != end)
		return NUMBER_BAD;
	*number = value;
	return status;
}

enum number_status number_decimal(const char *text, size_t length, uint64_t *number)
{
	return read_whole(text, length, 10, number);
}

enum number_status number_hex(const char *text, size_t length, uint64_t *number)
{
	size_t prefix = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;

	return read_whole(text + prefix, length - prefix, 16, number);
}

bool number_parse(const char *text, size_t length, uint64_t *number)
{
	uint64_t value;

	if (number_decimal(text, length, &value) != NUMBER_OK)
		return false;
	*number = value;
	return true;
}

bool number_parse_size(const char *text, size_t length, uint64_t *bytes)
{
	bool has_bytes = length > 1 && (text[length - 1] & ~0x20) == 'B';
	bool has_binary = has_bytes && length > 3 && (text[length - 2] & ~0x20) == 'I';
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
