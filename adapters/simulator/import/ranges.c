/* Ranges of imported traces. Tools that record accesses mostly do not record allocations. Then every VABlock
 * of 2 MiB that is touched counts as managed, as a whole, and neighbouring blocks are one range: no address
 * space is managed that the program has never been near, and the driver's trees are whole. Touched blocks are
 * kept in a hash table, so memory depends on how much is touched and not on how often. */
#include "import/importer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define RANGES_MAX 65536u /* as the reader of traces */
#define FIRST_ROOM 1024u

/* -- touched blocks -- */

static size_t slot_of(const struct import_ranges *ranges, uint64_t block)
{
	size_t slot = (size_t)((block * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (ranges->room - 1);

	while (ranges->block[slot] != 0 && ranges->block[slot] != block)
		slot = (slot + 1) & (ranges->room - 1);
	return slot;
}

static bool grow(struct import_ranges *ranges)
{
	struct import_ranges larger = *ranges;

	larger.room = ranges->room != 0 ? 2 * ranges->room : FIRST_ROOM;
	larger.block = calloc(larger.room, sizeof(*larger.block));
	if (!larger.block)
		return false;
	for (size_t i = 0; i < ranges->room; i++)
		if (ranges->block[i] != 0)
			larger.block[slot_of(&larger, ranges->block[i])] = ranges->block[i];
	free(ranges->block);
	*ranges = larger;
	return true;
}

bool import_ranges_see(struct import_ranges *ranges, uint64_t address)
{
	uint64_t block = address / IMPORT_BLOCK + 1;
	size_t slot;

	if (block == ranges->last_block)
		return true;
	if (2 * ranges->blocks >= ranges->room && !grow(ranges))
		return false;
	slot = slot_of(ranges, block);
	ranges->blocks += ranges->block[slot] == 0;
	ranges->block[slot] = ranges->last_block = block;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

const char *import_ranges_make(struct import_ranges *ranges)
{
	struct source_range range = {.bytes = 0};
	const char *wrong = NULL;
	size_t count = 0;

	for (size_t i = 0; i < ranges->room; i++)
		if (ranges->block[i] != 0)
			ranges->block[count++] = ranges->block[i];
	if (count > 0)
		qsort(ranges->block, count, sizeof(*ranges->block), by_number);
	for (size_t i = 0; i < count && !wrong; i++) {
		uint64_t base = (ranges->block[i] - 1) * IMPORT_BLOCK;

		if (range.bytes != 0 && range.base + range.bytes == base) {
			range.bytes += IMPORT_BLOCK;
			continue;
		}
		if (range.bytes != 0)
			wrong = import_ranges_add(ranges, &range);
		range.base = base;
		range.bytes = IMPORT_BLOCK;
	}
	if (range.bytes != 0 && !wrong)
		wrong = import_ranges_add(ranges, &range);
	free(ranges->block);
	ranges->block = NULL;
	ranges->blocks = ranges->room = 0;
	return wrong;
}

/* -- ranges -- */

/* Index of the first range that ends at or after the address. */
static size_t search(const struct import_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct source_range *range = &ranges->range[middle];

		if (range->base + (range->bytes - 1) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *import_ranges_add(struct import_ranges *ranges, const struct source_range *range)
{
	size_t at;

	if (range->base % IMPORT_PAGE != 0)
		return "the base of the range is not a multiple of 4096";
	if (range->bytes == 0 || range->bytes - 1 > UINT64_MAX - range->base)
		return "the range has no bytes, or more than there are addresses";
	at = search(ranges, range->base);
	if (at < ranges->ranges && ranges->range[at].base <= range->base + (range->bytes - 1))
		return "the range overlaps another one";
	if (ranges->ranges == RANGES_MAX)
		return "more than 65536 ranges: touched memory has too many gaps, or --ranges too many lines";
	if (!ARRAY_RESERVE(ranges->range, ranges->ranges_room, ranges->ranges + 1))
		return "out of memory";
	ARRAY_OPEN(ranges->range, ranges->ranges, at);
	ranges->range[at] = *range;
	ranges->ranges++;
	return NULL;
}

bool import_ranges_hold(struct import_ranges *ranges, uint64_t address)
{
	const struct source_range *range;
	size_t at;

	if (ranges->ranges == 0)
		return false;
	range = &ranges->range[ranges->last_hit];
	if (address >= range->base && address - range->base < range->bytes)
		return true;
	at = search(ranges, address);
	if (at == ranges->ranges || ranges->range[at].base > address)
		return false;
	ranges->last_hit = at;
	return true;
}

void import_ranges_free(struct import_ranges *ranges)
{
	free(ranges->block);
	free(ranges->range);
	memset(ranges, 0, sizeof(*ranges));
}

/* -- from a file -- */

static const char allocations_head[] = "set,benchmark,index,requested_bytes,rounded_bytes,start_addr";
#define FIELDS_MAX 6u

struct reading {
	struct import_text text;
	struct import_ranges *ranges;
	const char *set, *benchmark;
	char only[64]; /* the benchmark of the lines read so far, if none was requested */
};

static bool add(struct reading *reading, const struct source_range *range)
{
	const char *wrong = import_ranges_add(reading->ranges, range);

	return !wrong || import_text_bad(&reading->text, "%s", wrong);
}

/* BASE,BYTES[,NAME] */
static bool take_plain(struct reading *reading)
{
	struct source_range range = {.base = 0};
	char *field[3] = {NULL, NULL, NULL};
	size_t count = import_fields(reading->text.lines.text, field, 3);

	if (count < 2 || count > 3)
		return import_text_bad(&reading->text,
				       "%zu fields; BASE,BYTES[,NAME], or the first line of "
				       "allocations of UVM Smart",
				       count);
	if (!import_hex(field[0], &range.base))
		return import_text_bad(&reading->text, "base \"%.40s\" is not a hexadecimal number",
				       field[0]);
	if (!import_decimal(field[1], &range.bytes))
		return import_text_bad(&reading->text, "size \"%.40s\" is not a decimal number", field[1]);
	if (field[2])
		snprintf(range.name, sizeof(range.name), "%.31s", field[2]);
	return add(reading, &range);
}

/* Is the line of the benchmark that is wanted? Without a wish all must be of one. */
static bool is_of_benchmark(struct reading *reading, const char *benchmark, bool *is_wanted)
{
	if (reading->benchmark) {
		*is_wanted = strcmp(benchmark, reading->benchmark) == 0;
		return true;
	}
	*is_wanted = true;
	if (reading->only[0] == '\0')
		snprintf(reading->only, sizeof(reading->only), "%.63s", benchmark);
	if (strncmp(reading->only, benchmark, sizeof(reading->only) - 1) == 0)
		return true;
	return import_text_bad(&reading->text, "ranges of %.40s and of %.40s; --benchmark says which",
			       reading->only, benchmark);
}

/* A line of allocations.csv */
static bool take_allocation(struct reading *reading)
{
	struct source_range range = {.base = 0};
	char *field[FIELDS_MAX];
	bool is_wanted = false;

	if (import_fields(reading->text.lines.text, field, FIELDS_MAX) != FIELDS_MAX)
		return import_text_bad(&reading->text, "not the fields %s", allocations_head);
	if (reading->set && strcmp(field[0], reading->set) != 0)
		return true;
	if (!is_of_benchmark(reading, field[1], &is_wanted))
		return false;
	if (!is_wanted)
		return true;
	if (!import_decimal(field[4], &range.bytes))
		return import_text_bad(&reading->text, "size \"%.40s\" is not a decimal number", field[4]);
	if (!import_hex(field[5], &range.base))
		return import_text_bad(&reading->text, "start \"%.40s\" is not a hexadecimal number",
				       field[5]);
	snprintf(range.name, sizeof(range.name), "%.20s %.10s", field[1], field[2]);
	return add(reading, &range);
}

static bool read_lines(struct reading *reading)
{
	enum line_status status = import_text_next(&reading->text);
	bool is_allocations = status == LINE_OK && strcmp(reading->text.lines.text, allocations_head) == 0;

	if (is_allocations)
		status = import_text_next(&reading->text);
	for (; status == LINE_OK; status = import_text_next(&reading->text)) {
		if (!(is_allocations ? take_allocation(reading) : take_plain(reading)))
			return false;
	}
	if (status == LINE_BAD)
		return false;
	if (reading->ranges->ranges > 0)
		return true;
	if (reading->benchmark && is_allocations)
		return import_text_bad(&reading->text, "there are no ranges of %.60s%s%.60s",
				       reading->benchmark, reading->set ? " in set " : "",
				       reading->set ? reading->set : "");
	return import_text_bad(&reading->text, "there are no ranges");
}

bool import_ranges_read(struct import_ranges *ranges, const struct import_file *file, const char *set,
			const char *benchmark, char error[SOURCE_ERROR_MAX])
{
	struct reading *reading = calloc(1, sizeof(*reading));
	bool is_good;

	if (!reading) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	reading->ranges = ranges;
	reading->set = set;
	reading->benchmark = benchmark;
	is_good = import_text_open(&reading->text, file->file, file->name, error) && read_lines(reading);
	import_text_close(&reading->text);
	free(reading);
	return is_good;
}
