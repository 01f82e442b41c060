/* Kernels and stalls; watch_kernels.h. */
#include "watch_kernels.h"

void watch_kernels_launch(struct watch_kernels *w, uint64_t at_ns)
{
	w->number++;
	w->launch_ns = w->busy_ns = at_ns;
	w->is_running = true;
}

static void tell(const struct watch_kernels *w, enum observe_kind kind, uint64_t from_ns, uint64_t until_ns)
{
	observe_tell(w->observers,
		     &(struct observe_event){
			     .kind = kind, .start = from_ns, .end = until_ns, .number = w->number});
}

void watch_kernels_busy(struct watch_kernels *w, uint64_t from_ns, uint64_t until_ns)
{
	if (w->is_running && from_ns > w->busy_ns)
		tell(w, OBSERVE_STALL, w->busy_ns, from_ns);
	if (until_ns > w->busy_ns)
		w->busy_ns = until_ns;
}

void watch_kernels_end(struct watch_kernels *w, uint64_t at_ns)
{
	if (!w->observers || !w->is_running)
		return;
	w->is_running = false;
	if (at_ns > w->busy_ns)
		tell(w, OBSERVE_STALL, w->busy_ns, at_ns);
	tell(w, OBSERVE_KERNEL, w->launch_ns, at_ns);
}
