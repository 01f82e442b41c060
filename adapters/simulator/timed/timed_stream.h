/* timed_stream.h: the items of streams (stream.h): when each begins, what it does, and the kernel that the
 * GPU runs. */
#ifndef UVMSIM_TIMED_STREAM_H
#define UVMSIM_TIMED_STREAM_H

#include "timed_internal.h"

/* When the first item of a stream can begin; TIMED_NEVER: it waits for another one, or the stream is
 * empty. */
uint64_t timed_item_ns(const struct timed *m, unsigned stream);
/* The first item of the stream begins. False: an error of the run; the host has it. */
bool timed_step_stream(struct timed *m, unsigned stream, uint64_t at_ns);
/* The kernel that runs has ended, and its copies, too, however late remote accesses have made them. */
void timed_end_kernel(struct timed *m);

#endif
