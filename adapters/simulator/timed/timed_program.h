/* timed_program.h: the program's own thread: its accesses, calls and waits, and the operations that it
 * queues in streams. */
#ifndef UVMSIM_TIMED_PROGRAM_H
#define UVMSIM_TIMED_PROGRAM_H

#include "timed_internal.h"

/* When the thread takes its next step; TIMED_NEVER: it waits for something that has not ended, or has
 * ended. */
uint64_t timed_program_ns(const struct timed *m);
/* The step at that time, which takes time only for a fault, a prefetch or an advice. False: an error of
 * the run; the host has it. */
bool timed_step_program(struct timed *m, uint64_t at_ns);

#endif
