/* workload_rows.h: the rows of a workload, for tests that compute its pages once more. */
#ifndef WORKLOAD_ROWS_H
#define WORKLOAD_ROWS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "source.h"

#define ROWS_PAGE   4096u
#define ROWS_RANGES 16

static char rows_error[SOURCE_ERROR_MAX];

/* A workload whose RANGE rows have been read. */
struct rows {
	struct source *source;
	struct source_range range[ROWS_RANGES];
	unsigned ranges;
	struct source_row row; /* the row in hand; at first the one behind the ranges */
};

static inline void rows_next(struct rows *rows)
{
	rows->source->next(rows->source, &rows->row);
}

static inline struct rows rows_open(const char *spec, uint64_t seed)
{
	struct rows rows = {.source = workload_open(spec, seed, rows_error)};

	if (rows.source == NULL)
		fail_msg("%s", rows_error);
	for (rows_next(&rows); rows.row.kind == SOURCE_RANGE; rows_next(&rows)) {
		assert_in_range(rows.ranges, 0, ROWS_RANGES - 1);
		rows.range[rows.ranges++] = rows.row.range;
	}
	return rows;
}

static inline void rows_close(struct rows *rows)
{
	rows->source->close(rows->source);
}

/* The range of the access in hand. */
static inline unsigned rows_range(const struct rows *rows)
{
	for (unsigned i = 0; i < rows->ranges; i++)
		if (rows->row.address - rows->range[i].base < rows->range[i].bytes)
			return i;
	fail_msg("address 0x%llx is outside every range", (unsigned long long)rows->row.address);
	return 0;
}

/* The offset in its range of the access in hand. */
static inline uint64_t rows_offset(const struct rows *rows)
{
	return rows->row.address - rows->range[rows_range(rows)].base;
}

static inline uint64_t rows_pages(const struct rows *rows, unsigned range)
{
	return (rows->range[range].bytes + ROWS_PAGE - 1) / ROWS_PAGE;
}

/* The row in hand begins a kernel of this name; its first access is in hand then. */
static inline void rows_kernel(struct rows *rows, const char *name)
{
	assert_int_equal(rows->row.kind, SOURCE_KERNEL);
	assert_string_equal(rows->row.name, name);
	rows_next(rows);
}

/* The row in hand ends a kernel. */
static inline void rows_sync(struct rows *rows)
{
	assert_int_equal(rows->row.kind, SOURCE_SYNC);
	rows_next(rows);
}

/* FNV-1a over all rows behind the ranges; checks that accesses lie in kernels and ranges. */
static inline uint64_t rows_hash(const char *spec, uint64_t seed)
{
	struct rows rows = rows_open(spec, seed);
	uint64_t hash = 0xcbf29ce484222325u;
	bool is_running = false;

	for (; rows.row.kind != SOURCE_END; rows_next(&rows)) {
		const uint64_t part[] = {(uint64_t)rows.row.kind, rows.row.agent, (uint64_t)rows.row.access,
					 rows.row.address};
		bool is_access = rows.row.kind == SOURCE_ACCESS;

		if (is_access)
			rows_range(&rows);
		assert_int_equal(is_running, is_access || rows.row.kind == SOURCE_SYNC);
		is_running = is_access || rows.row.kind == SOURCE_KERNEL;
		for (size_t i = 0; i < (is_access ? 4u : 1u); i++)
			hash = (hash ^ part[i]) * 0x100000001b3u;
	}
	assert_false(is_running);
	rows_close(&rows);
	return hash;
}

/* The same seed makes the same rows; another seed makes other rows if the workload is seeded. */
static inline void rows_determined(const char *spec, bool is_seeded)
{
	uint64_t hash = rows_hash(spec, 1);

	assert_true(hash == rows_hash(spec, 1));
	assert_int_equal(hash == rows_hash(spec, 2), !is_seeded);
}

static inline void rows_refused(const char *spec, const char *message)
{
	memset(rows_error, 0, sizeof(rows_error));
	assert_null(workload_open(spec, 1, rows_error));
	assert_string_equal(rows_error, message);
}

#endif
