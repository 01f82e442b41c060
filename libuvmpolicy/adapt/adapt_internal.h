/* Parameters of the controllers that the policy string can set, in the order of the policy string. */
#ifndef UVMPOLICY_ADAPT_INTERNAL_H
#define UVMPOLICY_ADAPT_INTERNAL_H

#include "../base/parameter_internal.h"
#include "uvmpolicy/adapt.h"

extern const struct parameter uvmpi_threshold_parameters[4]; /* adapt_threshold.c: adapt=pressure */
extern const struct parameter uvmpi_early_parameters[3];     /* adapt_early.c: adapt=early */
extern const struct parameter uvmpi_threads_parameters[3];   /* adapt_threads.c: threads=on */
extern const struct parameter uvmpi_cyclic_parameters[1];    /* adapt_cyclic.c: cyclic=on */

#endif
