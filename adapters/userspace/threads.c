/* Numbers of threads: 0, 1, 2, ... in the order of their first faults. Traces name threads by them, and
 * threads share the engine's uTLBs by number, as in the simulator. An open-addressing table by thread
 * id; entries stay, since a reused thread id may keep its number. */
#include "pager_internal.h"

#include <stdlib.h>

#define LEAST 256u /* initial slots; numbers of slots are powers of two */

static uint32_t place_of(const struct threads *threads, uint32_t tid)
{
	uint32_t mask = threads->capacity - 1u, at = tid * 2654435769u & mask;

	while (threads->one[at].tid != 0 && threads->one[at].tid != tid)
		at = (at + 1u) & mask;
	return at;
}

static bool grow(struct threads *threads)
{
	uint32_t capacity = threads->capacity == 0 ? LEAST : 2u * threads->capacity;
	struct threads grown = {calloc(capacity, sizeof(*grown.one)), threads->count, capacity};

	if (!grown.one)
		return false;
	for (uint32_t i = 0; i < threads->capacity; i++) {
		if (threads->one[i].tid != 0)
			grown.one[place_of(&grown, threads->one[i].tid)] = threads->one[i];
	}
	free(threads->one);
	*threads = grown;
	return true;
}

uint32_t threads_number(struct threads *threads, uint32_t tid)
{
	struct threads_one *thread;

	if (tid == 0 || (2u * threads->count >= threads->capacity && !grow(threads)))
		return 0;
	thread = &threads->one[place_of(threads, tid)];
	if (thread->tid == 0)
		*thread = (struct threads_one){tid, threads->count++ % THREADS_MOST};
	return thread->number;
}

void threads_close(struct threads *threads)
{
	free(threads->one);
	*threads = (struct threads){0};
}
