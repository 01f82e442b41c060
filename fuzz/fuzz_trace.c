/* Any bytes as a trace: the reader must end with END or with one BAD that names the input, and what it hands
 * out must keep the promises of source.h: ranges apart, accesses inside one, times never backwards. The
 * ranges are kept here as a plain list. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

#define NAME       "fuzzed.csv"
#define RANGES_MAX 256u
#define ROWS_MAX   20000u

struct ranges {
	struct source_range range[RANGES_MAX]; /* what is left of them */
	bool is_rest[RANGES_MAX];              /* a part was freed */
	unsigned count;
};

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static bool is_inside(const struct source_range *range, uint64_t address)
{
	return address >= range->base && address - range->base < range->bytes;
}

static void add_range(struct ranges *ranges, const struct source_range *range)
{
	require(range->base % 4096 == 0 && range->bytes != 0);
	require(range->base + (range->bytes - 1) >= range->base);
	require(memchr(range->name, '\0', sizeof(range->name)) != NULL);
	require(!range->is_device);
	for (unsigned i = 0; i < ranges->count; i++)
		require(!is_inside(&ranges->range[i], range->base) &&
		        !is_inside(range, ranges->range[i].base));
	ranges->range[ranges->count++] = *range;
}

/* Its last page counts as a whole. */
static uint64_t last_of(const struct source_range *range)
{
	return (range->base + (range->bytes - 1)) | 4095;
}

/* The range that begins there, as a whole. */
static void free_range(struct ranges *ranges, const struct source_row *row)
{
	unsigned i = 0;

	while (i < ranges->count && ranges->range[i].base != row->address)
		i++;
	require(i < ranges->count && !ranges->is_rest[i] && ranges->range[i].bytes == row->bytes);
	ranges->count--;
	ranges->range[i] = ranges->range[ranges->count];
	ranges->is_rest[i] = ranges->is_rest[ranges->count];
}

static void add_rest(struct ranges *ranges, uint64_t base, uint64_t last)
{
	ranges->range[ranges->count] = (struct source_range){.base = base, .bytes = last - base + 1};
	ranges->is_rest[ranges->count++] = true;
}

/* Of every range what lies below and above the part is left: of one range more than before. */
static void free_part(struct ranges *ranges, const struct source_row *row)
{
	struct ranges before = *ranges;
	uint64_t last = row->address + (row->bytes - 1);

	require(row->bytes % 4096 == 0);
	ranges->count = 0;
	for (unsigned i = 0; i < before.count; i++) {
		const struct source_range *range = &before.range[i];
		uint64_t range_last = range->base + (range->bytes - 1);

		if (last_of(range) < row->address || range->base > last) {
			ranges->range[ranges->count] = *range;
			ranges->is_rest[ranges->count++] = before.is_rest[i];
			continue;
		}
		if (range->base < row->address)
			add_rest(ranges, range->base, row->address - 1);
		if (range_last > last)
			add_rest(ranges, last + 1, range_last);
	}
}

static void check_access(const struct ranges *ranges, const struct source_row *row, bool has_bytes,
                         uint64_t *time_ns)
{
	bool is_found = false;

	require(row->agent < 1u << 20);
	require(row->access_bytes <= (has_bytes ? 4096 : 0));
	require(row->access == UVMP_ACCESS_READ || row->access == UVMP_ACCESS_WRITE ||
	        row->access == UVMP_ACCESS_ATOMIC_STRONG || row->access == UVMP_ACCESS_PREFETCH);
	for (unsigned i = 0; i < ranges->count; i++)
		is_found |= is_inside(&ranges->range[i], row->address);
	require(is_found);
	if (row->has_time) {
		require(row->time_ns >= *time_ns);
		*time_ns = row->time_ns;
	}
}

/* Every page of a call lies in a range. */
static void check_call(const struct ranges *ranges, const struct source_row *row)
{
	uint64_t last = row->address + (row->bytes - 1), at = row->address;

	require(row->address % 4096 == 0 && row->bytes != 0 && last >= row->address);
	if (row->kind == SOURCE_ADVISE) {
		require((unsigned)row->advice <= UVMP_ADVISE_DISCARD);
		require(!row->to_none || (row->advice == UVMP_ADVISE_PREFERRED && !row->to_gpu));
	}
	for (unsigned steps = 0; steps <= ranges->count; steps++) {
		const struct source_range *range = NULL;

		for (unsigned i = 0; i < ranges->count; i++)
			if (is_inside(&ranges->range[i], at))
				range = &ranges->range[i];
		require(range != NULL);
		at = range->base + (range->bytes - 1);
		if ((at | 4095) >= last)
			return;
		at = (at | 4095) + 1;
	}
	require(false);
}

static void free_row(struct ranges *ranges, const struct source_row *row)
{
	if (!row->is_part) {
		free_range(ranges, row);
		return;
	}
	check_call(ranges, row);
	free_part(ranges, row);
}

static void check_error(const char *error)
{
	require(memchr(error, '\0', SOURCE_ERROR_MAX) != NULL);
	require(strncmp(error, NAME ":", strlen(NAME) + 1) == 0);
	for (const char *p = error; *p != '\0'; p++)
		require(*p >= ' ' && *p <= '~');
}

static void walk(struct source *source)
{
	struct ranges ranges = {.count = 0};
	uint64_t time_ns = 0;
	struct source_row row;

	for (unsigned rows = 0; rows < ROWS_MAX && ranges.count < RANGES_MAX; rows++) {
		source->next(source, &row);
		switch (row.kind) {
		case SOURCE_RANGE:
			add_range(&ranges, &row.range);
			break;
		case SOURCE_ACCESS:
			check_access(&ranges, &row, source->has_bytes, &time_ns);
			break;
		case SOURCE_KERNEL:
			require(row.name[0] != '\0' && memchr(row.name, '\0', sizeof(row.name)) != NULL);
			break;
		case SOURCE_FREE:
			free_row(&ranges, &row);
			break;
		case SOURCE_SYNC:
		case SOURCE_BATCH:
			break;
		case SOURCE_PREFETCH:
		case SOURCE_ADVISE:
			check_call(&ranges, &row);
			break;
		case SOURCE_END:
			require(source->error[0] == '\0');
			source->next(source, &row);
			require(row.kind == SOURCE_END);
			return;
		case SOURCE_BAD:
			check_error(source->error);
			source->next(source, &row);
			require(row.kind == SOURCE_BAD);
			return;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* copied, as fmemopen wants to be able to write */
	char *copy = malloc(size + 1);
	char error[SOURCE_ERROR_MAX] = "";
	struct source *source;
	FILE *in;

	require(copy != NULL);
	memcpy(copy, data, size);
	in = fmemopen(copy, size, "rb");
	if (in != NULL) { /* NULL: this libc refuses size 0 */
		source = trace_open_stream(in, NAME, error);
		if (source == NULL) {
			check_error(error);
		} else {
			walk(source);
			source->close(source);
		}
	}
	free(copy);
	return 0;
}
