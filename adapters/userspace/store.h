/* store.h: backing stores for pages that are not resident. A store has pages, numbered from 0,
 * which are read and written in runs. */
#ifndef UVMP_PAGER_STORE_H
#define UVMP_PAGER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What declares a public function, as in pager.h. */
#ifndef UVMP_PAGER_API
#ifdef __GNUC__
#define UVMP_PAGER_API __attribute__((visibility("default")))
#else
#define UVMP_PAGER_API
#endif
#endif

#define UVMP_STORE_PAGE_BYTES 4096u

enum uvmp_store_fork { UVMP_STORE_BEFORE_FORK, UVMP_STORE_PARENT, UVMP_STORE_CHILD };

/* Functions return 0 or a negative errno. `to` and `from` are aligned to pages. */
struct uvmp_pager_store {
	/* Reads pages that were written before. A short read is -EIO. */
	int (*read)(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, void *to);
	/* Writes pages. After an error the pager takes none of them as written. */
	int (*write)(struct uvmp_pager_store *store, uint64_t page, uint64_t pages, const void *from);
	/* These pages are not needed; may do nothing. */
	void (*forget)(struct uvmp_pager_store *store, uint64_t page, uint64_t pages);
	/* Address of a written page in memory, valid until the page is forgotten; consecutive pages
	 * are contiguous. NULL, also as a function: it must be read. */
	const void *(*at)(const struct uvmp_pager_store *store, uint64_t page);
	/* The process forks: called before, then in the parent and in the child, which shares
	 * nothing with the parent from then on. After an error before or in the child, the child
	 * has no managed memory. NULL: nothing is to be done. */
	int (*fork)(struct uvmp_pager_store *store, enum uvmp_store_fork stage);
	uint64_t (*size)(const struct uvmp_pager_store *store); /* memory or file space that it uses */
	void (*close)(struct uvmp_pager_store *store);		/* frees it */
	/* read, write and at may run in several threads for pages that do not overlap, and size
	 * beside them; forget, fork and close run alone. False: one function at a time. */
	bool is_parallel;
	/* 0 or 1, or a power of two to 512: writing that many pages, from a multiple of it on,
	 * takes little longer than writing a few. Dirty neighbours are then written along. */
	uint32_t cluster_pages;
	/* Managed memory is a shared mapping of this file, with a page of the store at its number
	 * times 4 KiB: nothing is read or written, and forgotten pages must be holes. After fork
	 * the child's file is another one. */
	bool is_mapped;
	int fd; /* that file; for other stores the descriptor that the program must not close, 0 and
		 * negative: none */
};

/* Opens "mem", "file:PATH", "zstd", "zstd:LEVEL" or "map" for `pages` pages. NULL: *error is
 * negative, and `text` has the reason. */
UVMP_PAGER_API struct uvmp_pager_store *uvmp_store_open(const char *name, uint64_t pages, int *error,
							char *text, size_t text_bytes);

#define UVMP_STORE_ZSTD_FASTEST	 (-50)
#define UVMP_STORE_ZSTD_LEVEL	 (-1)
#define UVMP_STORE_ZSTD_SMALLEST 19

/* One function for each kind. -EINVAL: no pages, or more than 2^34; -ENOMEM: no address space. */
UVMP_PAGER_API struct uvmp_pager_store *uvmp_store_mem(uint64_t pages, int *error);
/* A directory, a new or empty file, or a block device (store_path.c). */
UVMP_PAGER_API struct uvmp_pager_store *uvmp_store_file(const char *path, uint64_t pages, int *error,
							char *text, size_t text_bytes);
/* -ENOTSUP: built without zstd. */
UVMP_PAGER_API struct uvmp_pager_store *uvmp_store_zstd(uint64_t pages, int level, int *error);
/* Memory that is shared with the managed memory: saves nothing, copies nothing (store_map.c). */
UVMP_PAGER_API struct uvmp_pager_store *uvmp_store_map(uint64_t pages, int *error);

#ifdef __cplusplus
}
#endif
#endif
