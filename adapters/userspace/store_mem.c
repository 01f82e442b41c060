/* Pages in other memory of this process. Forgotten pages return their memory to the system; a fork
 * copies them as all memory. */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "store_internal.h"

#define PAGE UVMP_STORE_PAGE_BYTES

struct mem {
	struct uvmp_pager_store store;
	struct held held;
	uint8_t *memory;
};

static uint8_t *place(const struct mem *mem, uint64_t page)
{
	return mem->memory + page * PAGE;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	const struct mem *mem = (struct mem *)store;

	if (!held_has(&mem->held, page, pages))
		return -EIO;
	memcpy(to, place(mem, page), pages * PAGE);
	return 0;
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct mem *mem = (struct mem *)store;

	memcpy(place(mem, page), from, pages * PAGE);
	held_add(&mem->held, page, pages);
	return 0;
}

static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct mem *mem = (struct mem *)store;

	if (held_remove(&mem->held, page, pages) != 0)
		madvise(place(mem, page), pages * PAGE, MADV_DONTNEED);
}

static const void *at(const struct uvmp_pager_store *store, uint64_t page)
{
	return place((const struct mem *)store, page);
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	return ((const struct mem *)store)->held.count * PAGE;
}

static void close_mem(struct uvmp_pager_store *store)
{
	struct mem *mem = (struct mem *)store;

	if (mem->memory)
		munmap(mem->memory, mem->held.pages * PAGE);
	held_close(&mem->held);
	free(mem);
}

struct uvmp_pager_store *uvmp_store_mem(uint64_t pages, int *error)
{
	struct mem *mem = calloc(1, sizeof(*mem));

	*error = -ENOMEM;
	if (!mem)
		return NULL;
	*error = held_open(&mem->held, pages);
	if (*error == 0)
		mem->memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->memory == MAP_FAILED) {
		mem->memory = NULL;
		*error = -ENOMEM;
	}
	if (*error != 0) {
		close_mem(&mem->store);
		return NULL;
	}
	madvise(mem->memory, pages * PAGE, MADV_NOHUGEPAGE); /* freed when the page is forgotten */
	mem->store = (struct uvmp_pager_store){.read = read_pages,
					       .write = write_pages,
					       .forget = forget,
					       .at = at,
					       .size = size,
					       .close = close_mem,
					       .is_parallel = true};
	return &mem->store;
}
