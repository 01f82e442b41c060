/* timed_open.h: what a timed run needs before its first step: ranges, engine, GPU. */
#ifndef UVMSIM_TIMED_OPEN_H
#define UVMSIM_TIMED_OPEN_H

#include "timed_internal.h"

/* The host has been initialised. False: the host has the error. */
bool timed_open(struct timed *m, struct source *source);

#endif
