/* Pages that arrive and leave with transfers; thread_pages.h. */
#include "thread_pages.h"

void thread_pages_begin(struct thread *t)
{
	t->arrivals = 0;
}

/* It is not known when the pages arrive. */
static void forget(struct thread *t, const struct sim_block *block, const uvmp_mask *pages)
{
	for (uint32_t i = 0; i < t->arrivals; i++)
		if (t->arrival[i].block == block)
			uvmp_mask_andnot(&t->arrival[i].pages, &t->arrival[i].pages, pages);
}

void thread_pages_arrive(struct thread *t, const struct sim_block *block, const uvmp_mask *pages, struct uvmp_region transfer,
			 uint64_t end_ns)
{
	uvmp_mask arriving;

	if (t->system->model->maps_copies == 0)
		return;
	uvmp_mask_zero(&arriving);
	uvmp_mask_region_and(&arriving, pages, transfer);
	if (t->arrivals == GROUP_STEPS_MAX)
		forget(t, block, &arriving);
	else
		t->arrival[t->arrivals++] = (struct thread_arrival){block, arriving, end_ns};
}

void thread_pages_map(struct thread *t, struct sim_block *block, uint32_t right, uvmp_mask *rest)
{
	uvmp_mask pages;

	for (uint32_t i = t->arrivals; i-- > 0;) {
		const struct thread_arrival *arrival = &t->arrival[i];

		if (arrival->block != block)
			continue;
		uvmp_mask_and(&pages, rest, &arrival->pages);
		if (uvmp_mask_is_empty(&pages))
			continue;
		gpu_map(t->system->gpu, arrival->end_ns, block, &pages, right, false);
		uvmp_mask_andnot(rest, rest, &pages);
	}
}

void thread_pages_stage(struct thread *t, struct sim_block *block, const uvmp_mask *pages)
{
	if (t->departures == THREAD_DEPARTURES)
		thread_pages_leave_rest(t);
	t->departure[t->departures++] = (struct thread_departure){block, *pages};
}

void thread_pages_leave(struct thread *t, struct sim_block *block, struct uvmp_region transfer, uint64_t begin_ns)
{
	uvmp_mask pages;

	for (uint32_t i = 0; i < t->departures; i++) {
		struct thread_departure *departure = &t->departure[i];

		if (departure->block != block)
			continue;
		uvmp_mask_zero(&pages);
		uvmp_mask_region_and(&pages, &departure->pages, transfer);
		if (uvmp_mask_is_empty(&pages))
			continue;
		gpu_map(t->system->gpu, begin_ns, block, &pages, UVMP_RIGHT_NONE, false);
		uvmp_mask_andnot(&departure->pages, &departure->pages, &pages);
	}
}

void thread_pages_leave_rest(struct thread *t)
{
	for (uint32_t i = 0; i < t->departures; i++)
		if (!uvmp_mask_is_empty(&t->departure[i].pages))
			gpu_map(t->system->gpu, t->now_ns, t->departure[i].block, &t->departure[i].pages, UVMP_RIGHT_NONE, false);
	t->departures = 0;
}
