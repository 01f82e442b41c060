/* uvmp_kernel.h: what the module uvmpolicy has beside the functions of the library, all of which it
 * exports. */
#ifndef UVMP_KERNEL_H
#define UVMP_KERNEL_H

#include <uvmpolicy/policy.h>

/* The policy of the module's parameter: `policy=` at load, or the last text written to
 * /sys/module/uvmpolicy/parameters/policy; without either the default. Always valid. For modules
 * that make an engine, which keeps its policy: a later change applies to the next engine. 0, or
 * -EINVAL: NULL. May sleep. */
int uvmp_kernel_policy(struct uvmp_policy *policy);

#endif
