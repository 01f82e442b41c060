/* Pages of a store with contents: a bit each, in memory that is used only where bits are set. */
#include "store_internal.h"

#include <errno.h>
#include <sys/mman.h>

#define BITS 64u

static size_t table_bytes(const struct held *held)
{
	return (size_t)((held->pages + BITS - 1u) / BITS * sizeof(uint64_t));
}

int held_open(struct held *held, uint64_t pages)
{
	if (pages == 0 || pages > STORE_PAGES_MOST)
		return -EINVAL;
	held->pages = pages;
	held->word = mmap(NULL, table_bytes(held), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (held->word != MAP_FAILED)
		return 0;
	held->word = NULL;
	return -ENOMEM;
}

void held_close(struct held *held)
{
	if (held->word)
		munmap((void *)held->word, table_bytes(held));
}

/* The bits of the word of `page` that lie in [page, end). */
static uint64_t bits_of(uint64_t page, uint64_t end)
{
	uint64_t first = page % BITS, some = end - page;

	if (some >= BITS - first)
		return ~(uint64_t)0 << first;
	return (((uint64_t)1 << some) - 1u) << first;
}

static uint64_t next_word(uint64_t page)
{
	return (page / BITS + 1u) * BITS;
}

void held_add(struct held *held, uint64_t page, uint64_t pages)
{
	uint64_t end = page + pages, added = 0;

	for (; page < end; page = next_word(page)) {
		uint64_t bits = bits_of(page, end), before;

		before = atomic_fetch_or_explicit(&held->word[page / BITS], bits, memory_order_relaxed);
		added += (uint64_t)__builtin_popcountll(bits & ~before);
	}
	atomic_fetch_add_explicit(&held->count, added, memory_order_relaxed);
}

uint64_t held_remove(struct held *held, uint64_t page, uint64_t pages)
{
	uint64_t end = page + pages, removed = 0;

	for (; page < end; page = next_word(page)) {
		uint64_t bits = bits_of(page, end), before;

		if ((atomic_load_explicit(&held->word[page / BITS], memory_order_relaxed) & bits) == 0)
			continue;
		before = atomic_fetch_and_explicit(&held->word[page / BITS], ~bits, memory_order_relaxed);
		removed += (uint64_t)__builtin_popcountll(bits & before);
	}
	atomic_fetch_sub_explicit(&held->count, removed, memory_order_relaxed);
	return removed;
}

bool held_has(const struct held *held, uint64_t page, uint64_t pages)
{
	uint64_t end = page + pages;

	for (; page < end; page = next_word(page)) {
		uint64_t bits = bits_of(page, end);

		if ((~atomic_load_explicit(&held->word[page / BITS], memory_order_relaxed) & bits) != 0)
			return false;
	}
	return true;
}

struct held_run held_next(const struct held *held, uint64_t page, uint64_t most)
{
	struct held_run run;
	uint64_t end;

	while (page < held->pages &&
	       (atomic_load_explicit(&held->word[page / BITS], memory_order_relaxed) >> page % BITS) == 0)
		page = next_word(page);
	while (page < held->pages && !held_has(held, page, 1))
		page++;
	if (page >= held->pages)
		return (struct held_run){held->pages, held->pages};
	end = held->pages - page < most ? held->pages : page + most;
	run = (struct held_run){page, page};
	while (run.end < end && held_has(held, run.end, 1))
		run.end++;
	return run;
}
