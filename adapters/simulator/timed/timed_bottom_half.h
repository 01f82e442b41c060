/* timed_bottom_half.h: a step of the driver's bottom half. */
#ifndef UVMSIM_TIMED_BOTTOM_HALF_H
#define UVMSIM_TIMED_BOTTOM_HALF_H

#include "timed_internal.h"

/* One bottom half, from its wake-up at at_ns: services faults or notifications, or withdraws victims that
 * were used. False: an error of the run, or too many bottom halves in a row have moved nothing; the host
 * has the error. */
bool timed_step_bottom_half(struct timed *m, uint64_t at_ns);

#endif
