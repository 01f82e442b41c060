/* Parameters of an engine, as this library's version of the structures (base.h). */
#ifndef UVMPOLICY_PARAMS_INTERNAL_H
#define UVMPOLICY_PARAMS_INTERNAL_H

#include "../base/sized_internal.h"
#include "uvmpolicy/service.h"

struct own_params {
	struct uvmp_service_params params; /* policy: that below; gpu: the host's array, see uvmpi_params_gpu */
	struct uvmp_policy policy;
};

/* uvmp_service_params_check; *own is valid if the result is UVMP_OK. */
enum uvmp_status uvmpi_params_read(const struct uvmp_service_params *params, struct own_params *own,
				   struct uvmp_service_error *error);

/* Where the host's parameters of a GPU are. Elements of the array are as far apart as the size of the first one says. */
static inline const void *uvmpi_params_gpu_at(const struct uvmp_service_params *params, uint32_t gpu)
{
	return (const uint8_t *)params->gpu + (size_t)(gpu - 1u) * params->gpu->size;
}

static inline enum uvmp_status uvmpi_params_read_gpu(const struct uvmp_service_params *params, uint32_t gpu,
						     struct uvmp_service_gpu *own)
{
	return uvmpi_sized_read(own, sizeof(*own), uvmpi_params_gpu_at(params, gpu),
				SIZE_THROUGH(struct uvmp_service_gpu, utlbs));
}

/* The parameters of a GPU, after uvmpi_params_read. */
static inline struct uvmp_service_gpu uvmpi_params_gpu(const struct uvmp_service_params *params, uint32_t gpu)
{
	struct uvmp_service_gpu own;

	(void)uvmpi_params_read_gpu(params, gpu, &own); /* the size was checked */
	return own;
}

#endif
