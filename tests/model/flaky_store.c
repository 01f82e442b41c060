/* What a store may do when it fails: a read that fails has filled half of the buffer with something else, a
 * write that fails has written half of the pages. */
#include "model/flaky_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct flaky_store *flaky_of(struct uvmp_pager_store *store)
{
	return (struct flaky_store *)(void *)store;
}

static uint64_t draw(struct flaky_store *flaky)
{
	uint64_t x = flaky->seed + 0x9e3779b97f4a7c15u * (atomic_fetch_add(&flaky->drawn, 1) + 1u);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* 0: this call works. */
static int error_of(struct flaky_store *flaky, uint32_t share)
{
	uint64_t x = draw(flaky);
	uint32_t delay_us = atomic_load(&flaky->delay_us);

	atomic_fetch_add(&flaky->calls, 1);
	if (delay_us != 0)
		usleep(delay_us);
	if (x % 1000u >= share)
		return 0;
	atomic_fetch_add(&flaky->failed, 1);
	return (x >> 32) % 2u == 0 ? -EIO : -ENOSPC;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	struct flaky_store *flaky = flaky_of(store);

	if (error_of(flaky, atomic_load(&flaky->reads_fail)) == 0)
		return flaky->real->read(flaky->real, page, pages, to);
	memset(to, 0xee, (pages + 1u) / 2u * UVMP_STORE_PAGE_BYTES);
	return -EIO;
}

/* Counted at once, also if the write fails then. */
static bool take_room(struct flaky_store *flaky, uint64_t page, uint64_t pages)
{
	uint64_t fresh = 0;

	if (!flaky->held)
		return true;
	for (uint64_t i = page; i < page + pages; i++)
		fresh += flaky->held[i] == 0;
	if (atomic_load(&flaky->count) + fresh > flaky->most)
		return false;
	memset(flaky->held + page, 1, pages);
	atomic_fetch_add(&flaky->count, fresh);
	return true;
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct flaky_store *flaky = flaky_of(store);
	int error = error_of(flaky, atomic_load(&flaky->writes_fail));

	if (!take_room(flaky, page, pages))
		return -ENOSPC;
	if (error == 0)
		return flaky->real->write(flaky->real, page, pages, from);
	if (pages > 1)
		(void)flaky->real->write(flaky->real, page, pages / 2u, from);
	return error;
}

static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct flaky_store *flaky = flaky_of(store);

	flaky->real->forget(flaky->real, page, pages);
	for (uint64_t i = page; flaky->held && i < page + pages; i++) {
		atomic_fetch_sub(&flaky->count, flaky->held[i]);
		flaky->held[i] = 0;
	}
}

static int fork_both(struct uvmp_pager_store *store, enum uvmp_store_fork stage)
{
	struct uvmp_pager_store *real = flaky_of(store)->real;

	if (stage == UVMP_STORE_CHILD && atomic_load(&flaky_of(store)->forks_fail))
		return -EIO;
	return real->fork ? real->fork(real, stage) : 0;
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	const struct flaky_store *flaky = (const struct flaky_store *)(const void *)store;

	return flaky->real->size(flaky->real);
}

static void close_both(struct uvmp_pager_store *store)
{
	flaky_of(store)->real->close(flaky_of(store)->real);
	free(flaky_of(store)->held);
	free(store);
}

struct flaky_store *flaky_store_around(struct uvmp_pager_store *real, uint64_t seed)
{
	struct flaky_store *flaky = calloc(1, sizeof(*flaky));

	if (!flaky)
		return NULL;
	flaky->real = real;
	flaky->seed = seed;
	flaky->store = (struct uvmp_pager_store){.read = read_pages,
	                                         .write = write_pages,
	                                         .forget = forget,
	                                         .fork = fork_both,
	                                         .size = size,
	                                         .close = close_both,
	                                         .is_parallel = real->is_parallel,
	                                         .cluster_pages = real->cluster_pages};
	return flaky;
}

bool flaky_store_limit(struct flaky_store *flaky, uint64_t pages, uint64_t most)
{
	flaky->held = calloc(pages, 1);
	flaky->store.is_parallel = false; /* pages are counted by one thread at a time */
	flaky->pages = pages;
	flaky->most = most;
	return flaky->held != NULL;
}
