/* report_internal.h: the interface between the formats of reports. From the lowest to the highest:
 *
 *   fields.c   the keys of a result, and their values
 *   seeds.c    runs that differ only in their seeds
 *   draws.c    runs that differ only in the constants of their model
 *   text.c     numbers as people read them
 *   json.c, csv.c, table_run.c, table_compare.c, bound.c   the formats
 *   report.c   chooses among the formats */
#ifndef UVMSIM_REPORT_INTERNAL_H
#define UVMSIM_REPORT_INTERNAL_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum unit { AS_COUNT = 0, AS_BYTES, AS_TIME };

/* One key of a result; keys are only ever added. */
struct field {
	const char *key, *text; /* JSON and CSV; table, NULL: not a line of its own there */
	size_t offset;
	enum unit unit;
};

/* LATE: of the times, and of the spreads, so many of the last ones are at the end of a CSV line, because columns keep their
 * places. */
enum { REPORT_FIELDS = 27, REPORT_TIMES = 23, REPORT_LATE = 2, REPORT_SPREADS = 6, REPORT_LATE_SPREADS = 2, REPORT_SEEDED = 5 };

extern const struct field report_fields[REPORT_FIELDS];
/* Null without a model of a GPU, never an invented figure. The first is the whole. */
extern const struct field report_times[REPORT_TIMES];
/* Of each the keys KEY_least, KEY_median and so on; null as above. */
extern const struct field report_spreads[REPORT_SPREADS];
/* Of each the keys KEY_seeds_least, KEY_seeds_median and KEY_seeds_most, over the runs of one policy. */
extern const struct field report_seeded[REPORT_SEEDED];

enum rank { RANK_LEAST = 0, RANK_MEDIAN, RANK_MOST, RANKS };
extern const char *const report_rank_keys[RANKS];

enum { REPORT_RUNS_MAX = REPORT_DRAWS_MAX + 1 }; /* of one policy */

/* The runs of one policy, which differ in their seeds; or in the draws of their model, the first being the model itself. */
struct row {
	const struct report *run;
	size_t count;
	const struct report *base; /* the first row of the group, with as many runs; NULL: this one, or no group */
};

enum statistic { LEAST = 0, MEDIAN, P90, MOST, MEAN, STATISTICS };
extern const char *const report_statistic_keys[STATISTICS];

/* -- fields.c -- */

uint64_t report_value(const struct report *report, const struct field *field);
uint64_t report_statistic(const struct report *report, const struct field *field, enum statistic statistic);

/* -- seeds.c -- */

/* The value of this rank; sorts the values. Of an even number the median is the lower one of the two in the middle: a
 * value that a run has had. */
uint64_t report_rank(uint64_t *values, size_t count, enum rank rank);
/* How many runs of the row are complete. */
size_t report_complete(const struct row *row);
/* Only complete runs count; if no run is complete, all count as far as they came. */
bool report_counts_run(const struct row *row, size_t run);
uint64_t report_field_rank(const struct row *row, const struct field *field, enum rank rank);
bool report_is_same_group(const struct report *a, const struct report *b);
/* The row that begins with the first of `count` reports. */
struct row report_row(const struct report *report, size_t count);
/* False: the field has no time, or no run is complete. */
bool report_has_seeded(const struct row *row, const struct field *field);

/* -- draws.c -- */

/* The row without its draws: what it would be without them. */
struct row report_without_draws(const struct row *row);
/* Complete draws, without the model itself. */
size_t report_drawn(const struct row *row);
/* Of these draws; false: the run has no draws. */
bool report_drawn_rank(const struct row *row, const struct field *field, enum rank rank, uint64_t *value);
/* The time of the row against that of the first policy, draw by draw: `pairs` draws are complete in both; in so many of
 * them the row is faster, or slower; and by how much, in thousandths of the first policy's time. A pair in which the first
 * policy takes 0 ns, because the program does nothing, counts as `instant` only. */
struct report_sign {
	size_t pairs, faster, slower, instant;
	uint64_t permille[RANKS];
};
/* False: there is no first policy, or no pair; `instant` is filled. */
bool report_sign(const struct row *row, struct report_sign *sign);

/* -- text.c -- */

/* Bytes as MiB with one decimal, rounded. */
void report_print_mib(char text[32], uint64_t bytes);
/* Bytes as KiB with one decimal, rounded down. */
void report_print_kib(char text[32], uint64_t bytes);
/* Thousandths with `digits` decimals, 1 or 3. */
void report_print_thousandths(char text[32], uint64_t value, int digits);

/* -- the formats -- */

/* One run of the row as an object. */
void report_json_run(const struct row *row, const struct report *report, FILE *out);
/* `has_version`: the last column is the version of uvmsim; false for lines that name the version elsewhere. */
void report_csv_header(bool has_version, FILE *out);
/* One run of the row as a line. */
void report_csv_run(const struct row *row, const struct report *report, bool has_version, FILE *out);
void report_table_run(const struct report *report, FILE *out);
/* How far the draws of one run spread. */
void report_table_draws(const struct row *row, FILE *out);
/* The runs of one workload and memory. */
void report_table_group(const struct report *report, size_t count, FILE *out);

/* What was asked for: `oversub_percent` or `memory_asked`, with a comma in front; the other one is null, or empty in CSV. */
void report_json_memory(const struct sim_memory *memory, FILE *out);
void report_csv_memory(const struct sim_memory *memory, FILE *out);

#endif
