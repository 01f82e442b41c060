/* gpu_translate.h: how an SM gets a page. */
#ifndef UVMSIM_GPU_TRANSLATE_H
#define UVMSIM_GPU_TRANSLATE_H

#include "gpu_internal.h"

/* The warp requests a page at now_ns, in a step whose first request was at issued_ns. *ready_ns is raised to
 * the time at which a page that is used has been translated, or has crossed the link. */
enum gpu_outcome gpu_ask(struct gpu *gpu, const struct asker *who, uint64_t issued_ns, uint64_t now_ns,
			 uint64_t page, uint64_t *ready_ns);

#endif
