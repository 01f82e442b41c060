/* The reclaim queue; reclaim.h. */
#include "reclaim.h"

void reclaim_init(struct reclaim *queue, uint64_t pages)
{
	queue->first = queue->count = 0;
	queue->fresh_pages = pages;
}

void reclaim_empty(struct reclaim *queue, uint64_t pages, uint64_t now_ns)
{
	uint32_t at;

	queue->count += queue->count < RECLAIM_ENTRIES;
	at = (queue->first + queue->count - 1u) % RECLAIM_ENTRIES;
	if (queue->count < RECLAIM_ENTRIES) {
		queue->entry[at].pages = pages;
		queue->entry[at].ready_ns = now_ns;
		return;
	}
	queue->entry[at].pages += pages;
	reclaim_delay(queue, now_ns);
}

void reclaim_delay(struct reclaim *queue, uint64_t ready_ns)
{
	uint32_t at = (queue->first + queue->count - 1u) % RECLAIM_ENTRIES;

	if (queue->count != 0 && queue->entry[at].ready_ns < ready_ns)
		queue->entry[at].ready_ns = ready_ns;
}

struct reclaim_times reclaim_take(struct reclaim *queue, uint64_t pages)
{
	uint64_t fresh = pages < queue->fresh_pages ? pages : queue->fresh_pages, ready_ns, some;
	struct reclaim_times times = {0, 0};

	queue->fresh_pages -= fresh;
	if (fresh == 0 && queue->count != 0)
		times.first_ns = times.last_ns = queue->entry[queue->first].ready_ns;
	for (pages -= fresh; pages != 0 && queue->count != 0; pages -= some) {
		some = pages < queue->entry[queue->first].pages ? pages : queue->entry[queue->first].pages;
		ready_ns = queue->entry[queue->first].ready_ns;
		times.last_ns = ready_ns > times.last_ns ? ready_ns : times.last_ns;
		queue->entry[queue->first].pages -= some;
		if (queue->entry[queue->first].pages != 0)
			continue;
		queue->first = (queue->first + 1u) % RECLAIM_ENTRIES;
		queue->count--;
	}
	return times;
}
