/* Parameters of an engine as the host gives them, and what its zeros stand for. */
#ifndef UVMPOLICY_DEFAULTS_INTERNAL_H
#define UVMPOLICY_DEFAULTS_INTERNAL_H

#include "../base/sized_internal.h"
#include "uvmpolicy/geometry.h"
#include "uvmpolicy/service.h"

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

/* Processors of the engine, after uvmpi_params_read. */
static inline uint32_t uvmpi_params_processors(const struct uvmp_service_params *params)
{
	return params->processors != NULL ? params->processors->count : params->gpus + 1u;
}

/* Bytes that a memory of so many bytes holds: with compression (memory_ratio) more than it has. */
static inline uint64_t uvmpi_params_capacity(const struct uvmp_service_params *params, uint64_t memory_bytes)
{
	return uvmp_etc_capacity(UVMP_ETC_COMPRESSION, memory_bytes, params->policy->memory_ratio,
				 params->page_bytes);
}

/* Gives fields that are 0 their defaults; those of the GPUs: uvmpi_params_gpu. */
void uvmpi_params_fill(struct uvmp_service_params *params);
/* The parameters of a GPU, after uvmpi_params_read, with defaults for zeros. */
struct uvmp_service_gpu uvmpi_params_gpu(const struct uvmp_service_params *params, uint32_t gpu);

#endif
