/* Parameters of decisions that the policy string can set, in the order of the policy string. */
#ifndef UVMPOLICY_PARAMETERS_INTERNAL_H
#define UVMPOLICY_PARAMETERS_INTERNAL_H

#include "../base/parameter_internal.h"

extern const struct parameter uvmpi_thrash_parameters[9]; /* thrash.c */
extern const struct parameter uvmpi_remote_parameters[3]; /* counter_remote.c */

#endif
