/* gpu_translate.h: how an SM gets a page. */
#ifndef UVMSIM_GPU_TRANSLATE_H
#define UVMSIM_GPU_TRANSLATE_H

#include "gpu_internal.h"

/* The warp requests a page of a span from sm->now_ns on. True: the page is used, and *ready_ns is the time at
 * which it has been translated, or has crossed the link; else the warp waits. */
bool gpu_ask(struct gpu *gpu, struct sm *sm, struct warp *w, uint64_t page, uint64_t *ready_ns);
/* The same for all pages of a step that w->want has and that do not wait with an entry of the MSHRs. Removes the
 * pages that are used from w->want. True: w->want is empty. */
bool gpu_ask_all(struct gpu *gpu, struct sm *sm, struct warp *w, uint64_t *ready_ns);

#endif
