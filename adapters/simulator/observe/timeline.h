/* timeline.h: a run as a file in the Chrome trace event format, which Perfetto and chrome://tracing open.
 *
 * One track for each kind of event, written while the run goes on. Events of one track that overlap in time are put on
 * further tracks of the same name. Times are ns of simulated time, written in microseconds, as the format asks. */
#ifndef UVMSIM_TIMELINE_H
#define UVMSIM_TIMELINE_H

#include <stdio.h>

#include "observe.h"

struct timeline;

/* Writes to `file`, which stays the caller's. NULL: out of memory. */
struct timeline *timeline_open(FILE *file);
/* An observer of one run. */
struct observer timeline_observer(struct timeline *timeline);
/* `otherData`: after the last event, each key once. */
void timeline_say(struct timeline *timeline, const char *key, const char *text);
void timeline_say_number(struct timeline *timeline, const char *key, uint64_t number);
/* Ends the file. What could not be written is the file's error. */
void timeline_close(struct timeline *timeline);

#endif
