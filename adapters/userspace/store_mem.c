/* Pages in other memory of this process, as a GPU's are in the CPU's. What is forgotten goes back to the
 * system; a fork copies it as it copies all memory. */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct mem {
	struct uvmp_pager_store store;
	uint8_t *memory;
	uint64_t pages;
};

static uint8_t *place(const struct mem *mem, uint64_t page)
{
	return mem->memory + page * UVMP_STORE_PAGE_BYTES;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	memcpy(to, place((struct mem *)store, page), pages * UVMP_STORE_PAGE_BYTES);
	return 0;
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	memcpy(place((struct mem *)store, page), from, pages * UVMP_STORE_PAGE_BYTES);
	return 0;
}

static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	madvise(place((struct mem *)store, page), pages * UVMP_STORE_PAGE_BYTES, MADV_DONTNEED);
}

static const void *at(const struct uvmp_pager_store *store, uint64_t page)
{
	return place((const struct mem *)store, page);
}

/* Counted when it is asked for: the system knows which pages there are. */
static uint64_t size(const struct uvmp_pager_store *store)
{
	const struct mem *mem = (const struct mem *)store;
	unsigned char there[4096];
	uint64_t held = 0;

	for (uint64_t page = 0; page < mem->pages; page += sizeof(there)) {
		uint64_t some = mem->pages - page < sizeof(there) ? mem->pages - page : sizeof(there);

		if (mincore(place(mem, page), some * UVMP_STORE_PAGE_BYTES, there) != 0)
			return 0;
		for (uint64_t i = 0; i < some; i++)
			held += there[i] & 1u;
	}
	return held * UVMP_STORE_PAGE_BYTES;
}

static void close_mem(struct uvmp_pager_store *store)
{
	struct mem *mem = (struct mem *)store;

	munmap(mem->memory, mem->pages * UVMP_STORE_PAGE_BYTES);
	free(mem);
}

struct uvmp_pager_store *uvmp_store_mem(uint64_t pages, int *error)
{
	struct mem *mem = calloc(1, sizeof(*mem));

	*error = -ENOMEM;
	if (!mem)
		return NULL;
	mem->pages = pages;
	mem->memory = mmap(NULL, pages * UVMP_STORE_PAGE_BYTES, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->memory == MAP_FAILED) {
		free(mem);
		return NULL;
	}
	mem->store = (struct uvmp_pager_store){.read = read_pages,
	                                       .write = write_pages,
	                                       .forget = forget,
	                                       .at = at,
	                                       .size = size,
	                                       .close = close_mem,
	                                       .is_parallel = true};
	return &mem->store;
}
