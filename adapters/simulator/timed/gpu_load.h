/* gpu_load.h: what a step of a warp wants of a page on the CPU, as it crosses the link. */
#ifndef UVMSIM_GPU_LOAD_H
#define UVMSIM_GPU_LOAD_H

#include "gpu_internal.h"

/* The bytes of a span, or of the lanes, that lie on the page. `number`: of the lane that asks, of a span 0. */
struct link_load gpu_load(const struct gpu *gpu, const struct warp *w, uint64_t page, uint32_t number);

#endif
