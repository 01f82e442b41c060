/* store.h: where pages live that are not resident. A store is a space of pages, numbered from 0, that are read and
 * written in runs. */
#ifndef UVMP_PAGER_STORE_H
#define UVMP_PAGER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_STORE_PAGE_BYTES 4096u

enum uvmp_store_fork { UVMP_STORE_BEFORE_FORK, UVMP_STORE_PARENT, UVMP_STORE_CHILD };

/* Functions return 0 or a negative errno. `to` and `from` are aligned to pages. */
struct uvmp_pager_store {
	/* Pages that were written before. A read that comes back short is -EIO. */
	int (*read)(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to);
	/* All of it or, for the pager, nothing: after an error it takes none of it for written. */
	int (*write)(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from);
	/* These pages are not needed any more; may do nothing. */
	void (*forget)(struct uvmp_pager_store *store, uint64_t page, uint64_t pages);
	/* Where a page that was written lies in memory, for good or until it is forgotten; NULL, also as a function: it is
	 * to be read. Pages that follow each other do so in memory. */
	const void *(*at)(const struct uvmp_pager_store *store, uint64_t page);
	/* The process forks: before, then in the parent and in the child, which shares nothing with the parent from then
	 * on. An error before or in the child leaves the child without managed memory. NULL: nothing is to be done. */
	int (*fork)(struct uvmp_pager_store *store, enum uvmp_store_fork stage);
	uint64_t (*size)(const struct uvmp_pager_store *store); /* bytes that it takes */
	void (*close)(struct uvmp_pager_store *store);		/* and frees it */
	/* read, write and at may run at the same time in several threads, for pages that do not overlap, and size beside
	 * them; forget, fork and close never beside anything. False: one function at a time. */
	bool is_parallel;
	/* 0 or 1, or a power of two to 512: writing that many pages from a multiple of it on takes hardly longer than writing
	 * a few of them. Pages that need not be written yet are then written along. */
	uint32_t cluster_pages;
	/* Managed memory is a shared mapping of this file, a page of the store at its number times 4 KiB: nothing is read
	 * or written then, and forgotten pages must be holes. The child's file after fork is another one. */
	bool is_mapped;
	int fd; /* that file; for other stores the descriptor that they must not lose, 0 and negative: none */
};

/* "mem", "file:PATH", "zstd", "zstd:LEVEL", "map", for `pages` pages. NULL: *error is negative, `text` says what is
 * wrong. */
struct uvmp_pager_store *uvmp_store_open(const char *name, uint64_t pages, int *error, char *text, size_t text_bytes);

#define UVMP_STORE_ZSTD_FASTEST	 (-50)
#define UVMP_STORE_ZSTD_LEVEL	 (-1)
#define UVMP_STORE_ZSTD_SMALLEST 19

/* One kind each. -EINVAL: no pages, or more than 2^34; -ENOMEM: no address space. */
struct uvmp_pager_store *uvmp_store_mem(uint64_t pages, int *error);
/* A directory, a new or empty file, or a block device (store_path.c). */
struct uvmp_pager_store *uvmp_store_file(const char *path, uint64_t pages, int *error, char *text, size_t text_bytes);
/* -ENOTSUP: built without zstd. */
struct uvmp_pager_store *uvmp_store_zstd(uint64_t pages, int level, int *error);
/* Memory that is shared with the managed memory itself: saves nothing, copies nothing (store_map.c). */
struct uvmp_pager_store *uvmp_store_map(uint64_t pages, int *error);

#ifdef __cplusplus
}
#endif
#endif
