/* trace_oracle.h: accesses of a source as a cache trace of libCacheSim (oracleGeneral), whose records trace_objects.h describes. A
 * record says which request is the next one for the same object, so all records are kept until the end: 24 bytes an access, and
 * 16 for each page. */
#ifndef UVMSIM_TRACE_ORACLE_H
#define UVMSIM_TRACE_ORACLE_H

#include "source.h"

struct trace_oracle;

/* NULL: out of memory. */
struct trace_oracle *trace_oracle_open(void);
/* An access of the GPU becomes a request: the object is the number of its page, the size 4,096 bytes, or what the access moves
 * if that is known. All other rows are left out. False with `error` filled: out of memory, or a time beyond 32 bits of seconds. */
bool trace_oracle_row(struct trace_oracle *oracle, const struct source_row *row,
		      char error[SOURCE_ERROR_MAX]);
/* Writes the records. False with `error` filled: the output, called `name` in errors, did not take them, or there are none. */
bool trace_oracle_write(struct trace_oracle *oracle, FILE *out, const char *name,
			char error[SOURCE_ERROR_MAX]);
void trace_oracle_close(struct trace_oracle *oracle);

#endif
