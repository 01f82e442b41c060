/* thread_map.h: what mappings cost a thread of the driver, and when the GPU sees them. */
#ifndef UVMSIM_THREAD_MAP_H
#define UVMSIM_THREAD_MAP_H

#include "thread.h"

/* The actions MAP, UNMAP and REVOKE, on the CPU or on the GPU. False: out of memory; the host has the error. */
bool thread_map(struct thread *t, const struct uvmp_action *action, const struct host_target *target);

#endif
