/* shared_rows.h: the rows of one source, generated or decoded once, for several runs in this process and in processes that
 * are forked from it.
 *
 * The first run that opens the source records its rows in memory that all processes share. Runs that open the source after
 * the last row was recorded read the rows there; runs that open it before read the source itself. All recordings together
 * have at most 1 GiB, and an eighth of the machine's memory; a source for which this is too little is not recorded. */
#ifndef UVMSIM_SHARED_ROWS_H
#define UVMSIM_SHARED_ROWS_H

#include "source.h"

struct shared_rows;

/* Memory for `count` recordings, each empty. NULL: the machine has no such memory; then nothing is recorded. Call before the
 * processes are forked. */
struct shared_rows *shared_rows_open(size_t count);
void shared_rows_close(struct shared_rows *rows);
/* No further run opens the source: gives its memory back. */
void shared_rows_drop(struct shared_rows *rows, size_t index);

/* The recorded rows as a source with the name of the original; NULL: not recorded, or out of memory. Errors do not tell the
 * place of a row in a trace. */
struct source *shared_rows_source(struct shared_rows *rows, size_t index);
/* Records the rows of the source, which was opened now, as it is read. No effect if another run records. A source that is
 * closed before its end is not recorded. */
void shared_rows_record(struct shared_rows *rows, size_t index, struct source *source);

#endif
