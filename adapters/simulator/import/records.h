/* records.h: profiles whose lines are records, `KIND KEY=VALUE KEY=VALUE ...`. */
#ifndef UVMSIM_IMPORT_RECORDS_H
#define UVMSIM_IMPORT_RECORDS_H

#include "import/columns.h"

typedef bool records_take(struct import *import, const struct pairs *pairs);

/* Hands each line that is neither empty nor a comment to `take`, which adds to the profile, then writes the trace. False: the
 * error is filled. */
bool records_read(struct import *import, records_take *take);
/* The kind of the record without the prefix, if it has the prefix. */
const char *records_kind(const struct pairs *pairs, const char *prefix);
/* Begins the first line that is neither empty nor a comment with one of the words, up to NULL? */
bool records_show(const char *head, size_t length, const char *const *words);

#endif
