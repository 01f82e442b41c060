/* Numbers with units, and names of events: see nvprof.h. */
#include "import/nvprof.h"

#include <string.h>

#define DIGITS_MAX	15u /* times the largest unit they fit 64 bits, but for GB and s, which are checked */
#define FRACTION_DIGITS 6u

const struct nvprof_unit nvprof_times[] = {
	{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}, {NULL, 0}};
const struct nvprof_unit nvprof_sizes[] = {
	{"B", 1}, {"KB", 1u << 10}, {"MB", 1u << 20}, {"GB", 1u << 30}, {NULL, 0}};

/* The digits before and behind the point; *at is moved behind them. */
static bool take_digits(const char **at, uint64_t *whole, uint64_t *fraction, uint64_t *divisor)
{
	size_t digits = strspn(*at, "0123456789");

	*whole = *fraction = 0;
	*divisor = 1;
	if (digits == 0 || digits > DIGITS_MAX)
		return false;
	for (; digits > 0; digits--, (*at)++)
		*whole = *whole * 10u + (uint64_t)(**at - '0');
	if (**at != '.')
		return true;
	(*at)++;
	digits = strspn(*at, "0123456789");
	for (size_t i = 0; i < digits && i < FRACTION_DIGITS; i++) {
		*fraction = *fraction * 10u + (uint64_t)((*at)[i] - '0');
		*divisor *= 10u;
	}
	*at += digits;
	return true;
}

bool nvprof_value(const char *text, const char *column_unit, const struct nvprof_unit *unit, uint64_t *value)
{
	uint64_t whole, fraction, divisor;
	const char *at = text;

	if (!take_digits(&at, &whole, &fraction, &divisor))
		return false;
	for (; unit->name; unit++) {
		if (strcmp(*at != '\0' ? at : column_unit, unit->name) != 0)
			continue;
		if (whole > UINT64_MAX / 4u / unit->times)
			return false;
		*value = whole * unit->times + (fraction * unit->times + divisor / 2u) / divisor;
		return true;
	}
	return false;
}

/* The number in the last parentheses, if nothing else is there. */
static bool device_number(const char *device, uint64_t *number)
{
	const char *open = strrchr(device, '(');
	char digits[DIGITS_MAX + 1u];
	size_t length = open ? strspn(open + 1, "0123456789") : 0;

	if (length == 0 || length >= sizeof(digits) || open[1 + length] != ')')
		return false;
	memcpy(digits, open + 1, length);
	digits[length] = '\0';
	return import_decimal(digits, number);
}

bool nvprof_wants(struct import *import, uint8_t kind, const char *device, bool *wanted)
{
	uint64_t number;

	*wanted = true;
	if (kind == IMPORT_CPU_FAULT)
		return true;
	if (device_number(device, &number))
		return import_wants(import, IMPORT_DEVICE, number, wanted);
	import_note(import, "some rows have no number of a GPU: if there were several GPUs, the rows of all "
			    "of them count");
	return true;
}

bool nvprof_kind(const char *name, uint8_t *kind, bool *to_gpu)
{
	static const struct {
		const char *name;
		uint8_t kind;
		bool to_gpu;
	} kinds[] = {{"[Unified Memory GPU page faults]", IMPORT_GPU_FAULT, false},
		     {"[Unified Memory CPU page faults]", IMPORT_CPU_FAULT, false},
		     {"[Unified Memory Memcpy HtoD]", IMPORT_MIGRATION, true},
		     {"[Unified Memory Memcpy DtoH]", IMPORT_MIGRATION, false}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name) != 0)
			continue;
		*kind = kinds[i].kind;
		*to_gpu = kinds[i].to_gpu;
		return true;
	}
	return false;
}
