/* timed_sleep.h: the sleep of the bottom half: until when the GPU runs by itself, and what wakes the
 * driver. */
#ifndef UVMSIM_TIMED_SLEEP_H
#define UVMSIM_TIMED_SLEEP_H

#include "timed_internal.h"

/* Lets the GPU run until the bottom half has work, but not past limit_ns, and says when the bottom half
 * wakes: *wake_ns; TIMED_NEVER: it has nothing to do until limit_ns. False: the run was interrupted. */
bool timed_wake_ns(struct timed *m, uint64_t limit_ns, uint64_t *wake_ns);
/* With --until, true if the program cannot end by then: its next step comes later, and so does the end of
 * its kernel. A GPU that has not reached that time may still be done by then: it runs on as it would
 * without a limit. */
bool timed_is_late(const struct timed *m, uint64_t next_ns);
/* The bottom half has slept from its end, or the kernel's launch, to until_ns. */
void timed_count_sleep(struct timed *m, uint64_t until_ns);

#endif
