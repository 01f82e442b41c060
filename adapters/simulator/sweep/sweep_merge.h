/* sweep_merge.h: the results of all shards of a sweep in one file. */
#ifndef UVMSIM_SWEEP_MERGE_H
#define UVMSIM_SWEEP_MERGE_H

#include <stddef.h>

/* Reads the files and writes their lines to `out`, in the order of the sweep. CLI_DONE; CLI_CHECK_FAILED after a report: a run is
 * missing, or has different results; CLI_BAD_INPUT after a report. Then `out` is unchanged. */
int sweep_merge(const char *out, const char *const *path, size_t count);

#endif
