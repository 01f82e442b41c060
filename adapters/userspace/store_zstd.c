/* Pages in compressed memory: cells of 16 pages, each compressed as one. A write of part of a cell opens it
 * first. A fork copies it as it copies all memory. */
#include "store.h"

#include <errno.h>

#ifdef HAVE_ZSTD
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <zstd.h>

#define CELL_PAGES 16u
#define CELL_BYTES (CELL_PAGES * UVMP_STORE_PAGE_BYTES)
#define LEVEL      1

struct cell {
	void *data; /* NULL: nothing was written, or all is forgotten */
	uint32_t bytes;
	uint32_t written; /* pages that hold something */
};

struct zstd {
	struct uvmp_pager_store store;
	struct cell *cell;
	uint64_t cells, bytes;
	ZSTD_CCtx *press;
	ZSTD_DCtx *open;
	uint8_t *plain, *packed;
	size_t packed_bytes;
};

static uint32_t pages_mask(uint32_t first, uint32_t outer)
{
	return (uint32_t)((1u << outer) - (1u << first));
}

static int open_cell(struct zstd *z, const struct cell *cell)
{
	size_t bytes = ZSTD_decompressDCtx(z->open, z->plain, CELL_BYTES, cell->data, cell->bytes);

	return bytes == CELL_BYTES ? 0 : -EIO;
}

static void drop(struct zstd *z, struct cell *cell)
{
	z->bytes -= cell->bytes;
	free(cell->data);
	*cell = (struct cell){0};
}

static int press_cell(struct zstd *z, struct cell *cell, uint32_t written, const uint8_t *plain)
{
	size_t bytes = ZSTD_compressCCtx(z->press, z->packed, z->packed_bytes, plain, CELL_BYTES, LEVEL);
	void *data = ZSTD_isError(bytes) ? NULL : malloc(bytes);

	if (!data)
		return -ENOMEM;
	memcpy(data, z->packed, bytes);
	z->bytes = z->bytes - cell->bytes + bytes;
	free(cell->data);
	*cell = (struct cell){data, (uint32_t)bytes, written};
	return 0;
}

/* Calls for the parts of cells that a run of pages consists of. */
struct part {
	struct cell *cell;
	uint32_t first, outer; /* pages of the cell */
};

static struct part next_part(struct zstd *z, uint64_t page, uint64_t pages)
{
	struct part part = {&z->cell[page / CELL_PAGES], (uint32_t)(page % CELL_PAGES), CELL_PAGES};

	if (pages < part.outer - part.first)
		part.outer = part.first + (uint32_t)pages;
	return part;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	struct zstd *z = (struct zstd *)store;
	uint8_t *memory = to;

	while (pages != 0) {
		struct part part = next_part(z, page, pages);
		uint32_t some = part.outer - part.first;
		int error = part.cell->data ? open_cell(z, part.cell) : -EIO;

		if (error != 0)
			return error;
		memcpy(memory, z->plain + part.first * UVMP_STORE_PAGE_BYTES, some * UVMP_STORE_PAGE_BYTES);
		memory += some * UVMP_STORE_PAGE_BYTES;
		page += some;
		pages -= some;
	}
	return 0;
}

static int write_part(struct zstd *z, const struct part *part, const uint8_t *from)
{
	uint32_t fresh = pages_mask(part->first, part->outer);
	int error = 0;

	if (fresh == pages_mask(0, CELL_PAGES))
		return press_cell(z, part->cell, fresh, from);
	if (part->cell->data)
		error = open_cell(z, part->cell);
	else
		memset(z->plain, 0, CELL_BYTES);
	if (error != 0)
		return error;
	memcpy(z->plain + part->first * UVMP_STORE_PAGE_BYTES, from,
	       (part->outer - part->first) * UVMP_STORE_PAGE_BYTES);
	return press_cell(z, part->cell, part->cell->written | fresh, z->plain);
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	struct zstd *z = (struct zstd *)store;
	const uint8_t *memory = from;

	while (pages != 0) {
		struct part part = next_part(z, page, pages);
		uint32_t some = part.outer - part.first;
		int error = write_part(z, &part, memory);

		if (error != 0)
			return error;
		memory += some * UVMP_STORE_PAGE_BYTES;
		page += some;
		pages -= some;
	}
	return 0;
}

/* A cell goes when nothing of it is needed any more. */
static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct zstd *z = (struct zstd *)store;

	while (pages != 0) {
		struct part part = next_part(z, page, pages);

		part.cell->written &= ~pages_mask(part.first, part.outer);
		if (part.cell->data && part.cell->written == 0)
			drop(z, part.cell);
		page += part.outer - part.first;
		pages -= part.outer - part.first;
	}
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	return ((const struct zstd *)store)->bytes;
}

static void close_zstd(struct uvmp_pager_store *store)
{
	struct zstd *z = (struct zstd *)store;

	for (uint64_t i = 0; z->cell && i < z->cells; i++)
		free(z->cell[i].data);
	if (z->cell)
		munmap(z->cell, z->cells * sizeof(*z->cell));
	ZSTD_freeCCtx(z->press);
	ZSTD_freeDCtx(z->open);
	free(z->plain);
	free(z->packed);
	free(z);
}

struct uvmp_pager_store *uvmp_store_zstd(uint64_t pages, int *error)
{
	struct zstd *z = calloc(1, sizeof(*z));

	*error = -ENOMEM;
	if (!z)
		return NULL;
	z->cells = (pages + CELL_PAGES - 1u) / CELL_PAGES;
	z->cell = mmap(NULL, z->cells * sizeof(*z->cell), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (z->cell == MAP_FAILED)
		z->cell = NULL;
	z->packed_bytes = ZSTD_compressBound(CELL_BYTES);
	z->press = ZSTD_createCCtx();
	z->open = ZSTD_createDCtx();
	z->plain = malloc(CELL_BYTES);
	z->packed = malloc(z->packed_bytes);
	if (!z->cell || !z->press || !z->open || !z->plain || !z->packed) {
		close_zstd(&z->store);
		return NULL;
	}
	z->store = (struct uvmp_pager_store){.read = read_pages,
	                                     .write = write_pages,
	                                     .forget = forget,
	                                     .size = size,
	                                     .close = close_zstd};
	return &z->store;
}
#else
struct uvmp_pager_store *uvmp_store_zstd(uint64_t pages, int *error)
{
	(void)pages;
	*error = -ENOTSUP;
	return NULL;
}
#endif
