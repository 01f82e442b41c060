/* nvprof.h: what the two forms of nvprof's table have in common. */
#ifndef UVMSIM_IMPORT_NVPROF_H
#define UVMSIM_IMPORT_NVPROF_H

#include "import/profile.h"

struct nvprof_unit {
	const char *name; /* NULL: behind the last */
	uint64_t times;
};

extern const struct nvprof_unit nvprof_times[], nvprof_sizes[];

/* `12.5` and its unit, which may follow at once, else is `column_unit`; rounded to the nearest. False: no such number. */
bool nvprof_value(const char *text, const char *column_unit, const struct nvprof_unit *unit, uint64_t *value);
/* The kind of the event that a name in square brackets stands for; *to_gpu of a copy. False: an event that is skipped. */
bool nvprof_kind(const char *name, uint8_t *kind, bool *to_gpu);
/* Is an event of this kind wanted, whose row names its device so: `Tesla T4 (0)`? The number may have been cut off: a note says
 * so, and the event is wanted. False: the error is filled. */
bool nvprof_wants(struct import *import, uint8_t kind, const char *device, bool *wanted);

#endif
