/* sweep_table.h: the complete runs of a sweep, from the file of its results. */
#ifndef UVMSIM_SWEEP_TABLE_H
#define UVMSIM_SWEEP_TABLE_H

#include "results.h"
#include "sweep_compare.h"

/* A complete run. */
struct sweep_entry {
	char *source, *seed; /* the case; "" if it is the key, or no parameter */
	char *others;	     /* further parameters but the key */
	size_t value;	     /* of the key, numbered in the order of the sweep */
	uint64_t number;
};

struct sweep_table {
	struct comparisons *to;
	struct results results;
	size_t parameters_end;	  /* column */
	size_t key, source, seed; /* columns; SIZE_MAX: none */
	size_t column, is_complete;
	struct sweep_entry *entry;
	size_t entries, room, incomplete;
	char **value;
	size_t values, values_room;
};

/* Finds the columns of `key` and `column`, as sweep_compare, and sets to->column. False after a report. */
bool sweep_table_find_columns(struct sweep_table *t, const char *key, const char *column);
/* Reads all lines of the results. False after a report. */
bool sweep_table_read(struct sweep_table *t);
void sweep_table_close(struct sweep_table *t);

#endif
