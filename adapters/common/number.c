/* Digits from the left, units from the right. */
#include "number.h"

#include <stdio.h>
#include <string.h>

static const char units[] = "KMGT";

/* The value of a digit; 16: the character is no digit in any base. */
static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
		return (unsigned)((c | 0x20) - 'a') + 10u;
	return 16;
}

enum number_status number_read(const char **text, const char *end, unsigned base, uint64_t *number)
{
	const char *at = *text;
	bool is_large = false;
	uint64_t value = 0;

	for (; at < end && digit_of(*at) < base; at++) {
		unsigned digit = digit_of(*at);

		is_large = is_large || value > (UINT64_MAX - digit) / base;
		value = value * base + digit;
	}
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
