/* uvmp_kernel.h: what the module uvmpolicy has beside the functions of the library, all of which it exports. */
#ifndef UVMP_KERNEL_H
#define UVMP_KERNEL_H

#include <uvmpolicy/policy.h>

/* What the module's parameter says now: `policy=` at load, or what was written since to
 * /sys/module/uvmpolicy/parameters/policy. Always a valid policy; the default one if nobody has said anything. For
 * modules that make an engine, which keeps its policy: a later change is for the next one. 0, or -EINVAL: NULL. May
 * sleep. */
int uvmp_kernel_policy(struct uvmp_policy *policy);

#endif
