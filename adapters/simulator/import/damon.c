/* What DAMON saw of a program on the CPU: as text of `perf script` (event damon:damon_aggregated, addresses decimal), or of
 * `damo report access --raw_form`, formerly `damo report raw` (addresses hexadecimal). DAMON looks at one page of a region and
 * takes it for all of them, so every page of a region with accesses counts as read, in the order of addresses. Order within an
 * aggregation interval is not known. */
#include "import/importer.h"

#include <string.h>

#define HEX_DIGITS  "0123456789abcdefABCDEF"
#define REGION_MOST (UINT64_C(1) << 36) /* bytes */

/* A number at *text, which then stands behind it. */
static bool take_number(const char **text, bool is_hex, uint64_t *number)
{
	size_t length = strspn(*text, is_hex ? HEX_DIGITS : "0123456789");
	char digits[24];

	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, *text, length);
	digits[length] = '\0';
	*text += length;
	return is_hex ? import_hex(digits, number) : import_decimal(digits, number);
}

/* What stands between a region and its accesses: `(8.000 KiB)` of damo, behind which older versions write a colon, or the colon
 * of perf. Returns NULL if it is neither. */
static const char *skip_middle(const char *text, bool is_hex)
{
	if (!is_hex)
		return *text == ':' ? text + 1 + strspn(text + 1, " ") : NULL;
	text += strspn(text, " ");
	text = *text == '(' ? strchr(text, ')') : NULL;
	return text ? text + 1 + strspn(text + 1, " :") : NULL;
}

/* START-END, then what skip_middle skips, then the number of accesses. */
static bool take_region(struct import *import, const char *text, bool is_hex, uint64_t region[3])
{
	const char *start = text;

	if (take_number(&text, is_hex, &region[0]) && *text++ == '-' &&
	    take_number(&text, is_hex, &region[1]) && (text = skip_middle(text, is_hex)) != NULL &&
	    take_number(&text, false, &region[2]) && (*text == ' ' || *text == '\0'))
		return true;
	return import_bad(import, "\"%.60s\" is no region: START-END and its accesses", start);
}

static bool put_region(struct import *import, const uint64_t region[3])
{
	struct source_row row = {.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ};
	uint64_t step =
		import->is_scan ? IMPORT_BLOCK : IMPORT_PAGE; /* the first reading only looks for blocks */

	if (region[1] <= region[0])
		return import_bad(import, "the region ends at 0x%llx, not behind its start 0x%llx",
				  (unsigned long long)region[1], (unsigned long long)region[0]);
	if (region[1] - region[0] > REGION_MOST && region[2] > 0)
		return import_bad(import, "the region has %llu bytes; at most %llu",
				  (unsigned long long)(region[1] - region[0]),
				  (unsigned long long)REGION_MOST);
	for (uint64_t at = region[0]; region[2] > 0 && at < region[1]; at = at / step * step + step) {
		row.address = at;
		row.agent = import_agent(import);
		if (!import_access(import, &row))
			return false;
		if (at / step * step > UINT64_MAX - step)
			break;
	}
	return true;
}

/* Is the line of damo a region, good or bad: WORD-WORD( or, if it was cut, at least 8 hexadecimal digits and `-`? */
static bool is_region(const char *line)
{
	size_t digits = strspn(line, HEX_DIGITS), first = strcspn(line, "-( "), second;

	if (digits >= 8 && line[digits] == '-')
		return true;
	if (line[0] == '#' || first == 0 || line[first] != '-')
		return false;
	line += first + 1;
	second = strcspn(line, "-( ");
	return second > 0 && line[second + strspn(line + second, " ")] == '(';
}

/* NULL: the line tells no region. */
static const char *find_region(const char *line, bool *is_hex)
{
	static const char event[] = "damon:damon_aggregated:", count[] = "nr_regions=";
	const char *at = strstr(line, event);

	*is_hex = !at;
	if (at) {
		at = strstr(at, count);
		at = at ? strchr(at, ' ') : NULL;
		return at ? at + strspn(at, " ") : "";
	}
	line += strspn(line, " ");
	return is_region(line) ? line : NULL;
}

static bool read_lines(struct import *import)
{
	enum line_status status;
	uint64_t region[3];

	while ((status = import_next(import)) == LINE_OK) {
		const char *at, *line = import->text.lines.text;
		bool is_hex;

		at = find_region(line, &is_hex);
		if (at && !(take_region(import, at, is_hex, region) && put_region(import, region)))
			return false;
	}
	if (status == LINE_BAD)
		return false;
	import_note(import, "tells regions, not pages: every page of a region with accesses counts as read");
	return true;
}

static bool shows(const char *head, size_t length)
{
	static const char event[] = "damon:damon_aggregated:", raw[] = "base_time_absolute:";

	return memmem(head, length, event, sizeof(event) - 1u) != NULL ||
	       (length > sizeof(raw) && memcmp(head, raw, sizeof(raw) - 1u) == 0);
}

const struct import_format import_damon = {
	.name = "damon",
	.summary = "regions that a program used, from `perf script` of damon:damon_aggregated or `damo "
		   "report raw`",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_AGENTS,
	.read = read_lines,
	.shows = shows,
};
