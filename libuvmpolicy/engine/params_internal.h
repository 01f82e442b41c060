/* Parameters of an engine, as this library's version of the structures (base.h). */
#ifndef UVMPOLICY_PARAMS_INTERNAL_H
#define UVMPOLICY_PARAMS_INTERNAL_H

#include "defaults_internal.h"

struct own_params {
	struct uvmp_service_params params; /* without zeros; policy: that below; gpu: the host's array, see uvmpi_params_gpu */
	struct uvmp_policy policy;
};

/* uvmp_service_params_check; *own is valid if the result is UVMP_OK. */
enum uvmp_status uvmpi_params_read(const struct uvmp_service_params *params, struct own_params *own,
				   struct uvmp_service_error *error);

#endif
