/* uvmp_kernel.h: what the module uvmpolicy adds to the functions of the library, which it exports all. */
#ifndef UVMP_KERNEL_H
#define UVMP_KERNEL_H

#include <uvmpolicy/policy.h>

/* The policy that the module's parameter says now: `policy=` at load, or what was written later to
 * /sys/module/uvmpolicy/parameters/policy. Always valid; empty is the default policy. A module that uses it asks when
 * it begins: an engine keeps its policy. 0, or -EINVAL: NULL. May sleep; not for a parameter's set and get of the same
 * module, which hold its lock. */
int uvmp_kernel_policy(struct uvmp_policy *policy);

#endif
