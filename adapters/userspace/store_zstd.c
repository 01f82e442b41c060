/* Pages in compressed memory: cells of 16 pages, compressed together. A write of a part of a cell
 * decompresses it first.
 *
 * Each cell has 64 KiB of address space, with memory for its compressed bytes in whole pages: nothing
 * is fragmented, and freed memory returns to the system at once. A cell that does not shrink is kept
 * uncompressed. The default level is fast: higher levels save little more and are slower (bench-store
 * of `make bench` has figures). A single page costs a whole cell. A fork copies all this as it copies
 * all memory. */
#include "store.h"

#include <errno.h>

#ifdef HAVE_ZSTD
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <zstd.h>

#include "store_internal.h"

#define PAGE	   UVMP_STORE_PAGE_BYTES
#define CELL_PAGES 16u
#define CELL_BYTES (CELL_PAGES * PAGE)
#define LOCKS	   64u

struct cell {
	uint32_t bytes;	  /* compressed bytes; CELL_BYTES: not compressed; 0: no contents */
	uint32_t written; /* pages with contents */
};

/* Buffers with which one thread compresses and decompresses a cell. */
struct bench {
	struct bench *next;
	ZSTD_CCtx *press;
	ZSTD_DCtx *open;
	uint8_t *plain, *packed;
};

struct zstd {
	struct uvmp_pager_store store;
	int level;
	uint64_t cells;
	struct cell *cell;
	uint8_t *memory;
	pthread_mutex_t lock[LOCKS]; /* of the cells whose number has this remainder */
	_Atomic uint64_t bytes;
	size_t packed_bytes;
	struct bench *idle;
	pthread_mutex_t idle_lock;
	pthread_cond_t is_idle;
};

/* -- buffers: one set for each thread that works at a time -- */

static void close_bench(struct bench *bench)
{
	ZSTD_freeCCtx(bench->press);
	ZSTD_freeDCtx(bench->open);
	free(bench->plain);
	free(bench->packed);
	free(bench);
}

static size_t press(const struct zstd *z, struct bench *bench, const uint8_t *plain)
{
	return ZSTD_compressCCtx(bench->press, bench->packed, z->packed_bytes, plain, CELL_BYTES, z->level);
}

/* Uses it once, so that its memory is allocated from then on. */
static struct bench *open_bench(const struct zstd *z)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		return NULL;
	bench->press = ZSTD_createCCtx();
	bench->open = ZSTD_createDCtx();
	bench->plain = calloc(1, CELL_BYTES);
	bench->packed = malloc(z->packed_bytes);
	if (bench->press && bench->open && bench->plain && bench->packed &&
	    !ZSTD_isError(press(z, bench, bench->plain)))
		return bench;
	close_bench(bench);
	return NULL;
}

/* Out of memory: waits for the buffers of another thread. There is at least one. */
static struct bench *take_bench(struct zstd *z)
{
	struct bench *bench;

	pthread_mutex_lock(&z->idle_lock);
	if (!z->idle && (bench = open_bench(z))) {
		pthread_mutex_unlock(&z->idle_lock);
		return bench;
	}
	while (!z->idle)
		pthread_cond_wait(&z->is_idle, &z->idle_lock);
	bench = z->idle;
	z->idle = bench->next;
	pthread_mutex_unlock(&z->idle_lock);
	return bench;
}

static void give_bench(struct zstd *z, struct bench *bench)
{
	pthread_mutex_lock(&z->idle_lock);
	bench->next = z->idle;
	z->idle = bench;
	pthread_cond_signal(&z->is_idle);
	pthread_mutex_unlock(&z->idle_lock);
}

/* -- cells -- */

static uint8_t *place(const struct zstd *z, const struct cell *cell)
{
	return z->memory + (uint64_t)(cell - z->cell) * CELL_BYTES;
}

static uint32_t whole_pages(uint32_t bytes)
{
	return (bytes + PAGE - 1u) / PAGE * PAGE;
}

/* Adjusts the memory of the cell. */
static void resize(struct zstd *z, struct cell *cell, uint32_t bytes)
{
	uint32_t before = whole_pages(cell->bytes), after = whole_pages(bytes);

	if (after < before)
		madvise(place(z, cell) + after, before - after, MADV_DONTNEED);
	atomic_fetch_add_explicit(&z->bytes, (uint64_t)after - before, memory_order_relaxed);
	cell->bytes = bytes;
}

static int open_cell(const struct zstd *z, const struct cell *cell, ZSTD_DCtx *open, uint8_t *to)
{
	if (cell->bytes == CELL_BYTES) {
		memcpy(to, place(z, cell), CELL_BYTES);
		return 0;
	}
	if (ZSTD_decompressDCtx(open, to, CELL_BYTES, place(z, cell), cell->bytes) != CELL_BYTES)
		return -EIO;
	return 0;
}

/* A cell that would not save a page is kept uncompressed, which is faster to read. */
static int press_cell(struct zstd *z, struct cell *cell, struct bench *bench, const uint8_t *plain)
{
	size_t bytes = press(z, bench, plain);
	const uint8_t *from = bench->packed;

	if (ZSTD_isError(bytes))
		return -ENOMEM;
	if (bytes > CELL_BYTES - PAGE) {
		bytes = CELL_BYTES;
		from = plain;
	}
	memcpy(place(z, cell), from, bytes);
	resize(z, cell, (uint32_t)bytes);
	return 0;
}

/* -- parts of cells, of which a run of pages consists -- */

struct part {
	struct cell *cell;
	uint32_t pages;	    /* as a set */
	uint32_t at, bytes; /* in the cell */
};

static struct part next_part(const struct zstd *z, uint64_t page, uint64_t pages)
{
	uint32_t first = (uint32_t)(page % CELL_PAGES), end = CELL_PAGES;

	if (pages < end - first)
		end = first + (uint32_t)pages;
	return (struct part){.cell = &z->cell[page / CELL_PAGES],
			     .pages = (1u << end) - (1u << first),
			     .at = first * PAGE,
			     .bytes = (end - first) * PAGE};
}

static pthread_mutex_t *lock_of(struct zstd *z, const struct cell *cell)
{
	return &z->lock[(uint64_t)(cell - z->cell) % LOCKS];
}

static int read_part(const struct zstd *z, const struct part *part, struct bench *bench, uint8_t *to)
{
	int error;

	if ((part->pages & ~part->cell->written) != 0)
		return -EIO;
	if (part->bytes == CELL_BYTES)
		return open_cell(z, part->cell, bench->open, to);
	if (part->cell->bytes == CELL_BYTES) {
		memcpy(to, place(z, part->cell) + part->at, part->bytes);
		return 0;
	}
	error = open_cell(z, part->cell, bench->open, bench->plain);
	if (error == 0)
		memcpy(to, bench->plain + part->at, part->bytes);
	return error;
}

static int write_part(struct zstd *z, const struct part *part, struct bench *bench, const uint8_t *from)
{
	int error = 0;

	if (part->bytes == CELL_BYTES) {
		error = press_cell(z, part->cell, bench, from);
	} else {
		if ((part->cell->written & ~part->pages) != 0)
			error = open_cell(z, part->cell, bench->open, bench->plain);
		else
			memset(bench->plain, 0, CELL_BYTES);
		if (error != 0)
			return error;
		memcpy(bench->plain + part->at, from, part->bytes);
		error = press_cell(z, part->cell, bench, bench->plain);
	}
	if (error == 0)
		part->cell->written |= part->pages;
	return error;
}

/* -- the store -- */

/* From `from` to the cells; without `from`, from the cells to `to`. */
static int transfer(struct zstd *z, uint64_t page, uint64_t pages, uint8_t *to, const uint8_t *from)
{
	struct bench *bench = take_bench(z);
	size_t done = 0;
	int error = 0;

	while (pages != 0 && error == 0) {
		struct part part = next_part(z, page, pages);

		pthread_mutex_lock(lock_of(z, part.cell));
		error = from ? write_part(z, &part, bench, from + done)
			     : read_part(z, &part, bench, to + done);
		pthread_mutex_unlock(lock_of(z, part.cell));
		done += part.bytes;
		page += part.bytes / PAGE;
		pages -= part.bytes / PAGE;
	}
	give_bench(z, bench);
	return error;
}

static int read_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to)
{
	return transfer((struct zstd *)store, page, pages, to, NULL);
}

static int write_pages(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from)
{
	return transfer((struct zstd *)store, page, pages, NULL, from);
}

/* A cell without contents is freed. */
static void forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct zstd *z = (struct zstd *)store;

	while (pages != 0) {
		struct part part = next_part(z, page, pages);

		part.cell->written &= ~part.pages;
		if (part.cell->written == 0 && part.cell->bytes != 0)
			resize(z, part.cell, 0);
		page += part.bytes / PAGE;
		pages -= part.bytes / PAGE;
	}
}

static uint64_t size(const struct uvmp_pager_store *store)
{
	return ((const struct zstd *)store)->bytes;
}

static void close_zstd(struct uvmp_pager_store *store)
{
	struct zstd *z = (struct zstd *)store;

	while (z->idle) {
		struct bench *bench = z->idle;

		z->idle = bench->next;
		close_bench(bench);
	}
	if (z->cell)
		munmap(z->cell, z->cells * sizeof(*z->cell));
	if (z->memory)
		munmap(z->memory, z->cells * CELL_BYTES);
	for (uint32_t i = 0; i < LOCKS; i++)
		pthread_mutex_destroy(&z->lock[i]);
	pthread_mutex_destroy(&z->idle_lock);
	pthread_cond_destroy(&z->is_idle);
	free(z);
}

static void *reserve(uint64_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct uvmp_pager_store *uvmp_store_zstd(uint64_t pages, int level, int *error)
{
	struct zstd *z;

	*error = -EINVAL;
	if (pages == 0 || pages > STORE_PAGES_MOST)
		return NULL;
	*error = -ENOMEM;
	z = calloc(1, sizeof(*z));
	if (!z)
		return NULL;
	for (uint32_t i = 0; i < LOCKS; i++)
		pthread_mutex_init(&z->lock[i], NULL);
	pthread_mutex_init(&z->idle_lock, NULL);
	pthread_cond_init(&z->is_idle, NULL);
	z->level = level;
	z->cells = (pages + CELL_PAGES - 1u) / CELL_PAGES;
	z->cell = reserve(z->cells * sizeof(*z->cell));
	z->memory = reserve(z->cells * CELL_BYTES);
	z->packed_bytes = ZSTD_compressBound(CELL_BYTES);
	z->idle = open_bench(z);
	if (!z->cell || !z->memory || !z->idle) {
		close_zstd(&z->store);
		return NULL;
	}
	madvise(z->memory, z->cells * CELL_BYTES, MADV_NOHUGEPAGE); /* whole pages of the cell only */
	z->store = (struct uvmp_pager_store){.read = read_pages,
					     .write = write_pages,
					     .forget = forget,
					     .size = size,
					     .close = close_zstd,
					     .is_parallel = true,
					     .cluster_pages = CELL_PAGES};
	return &z->store;
}
#else
struct uvmp_pager_store *uvmp_store_zstd(uint64_t pages, int level, int *error)
{
	(void)pages;
	(void)level;
	*error = -ENOTSUP;
	return NULL;
}
#endif
