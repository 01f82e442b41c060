/* Shared by stores: pages with contents (store_held.c), and opening a path (store_path.c). */
#ifndef UVMP_PAGER_STORE_INTERNAL_H
#define UVMP_PAGER_STORE_INTERNAL_H

#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_PAGES_MOST ((uint64_t)1 << 34)

/* -- pages that hold something; several threads may ask and add, for pages that do not overlap -- */

struct held {
	_Atomic uint64_t *word; /* a bit a page */
	uint64_t pages;
	_Atomic uint64_t count;
};

struct held_run {
	uint64_t first, end; /* empty: first == end */
};

/* 0, -EINVAL: no pages, or more than STORE_PAGES_MOST; -ENOMEM. */
int held_open(struct held *held, uint64_t pages);
void held_close(struct held *held);
void held_add(struct held *held, uint64_t page, uint64_t pages);
/* Returns how many pages were held. */
uint64_t held_remove(struct held *held, uint64_t page, uint64_t pages);
/* Are all of the pages held? */
bool held_has(const struct held *held, uint64_t page, uint64_t pages);
/* The first run from `page` on, of at most `most` pages. */
struct held_run held_next(const struct held *held, uint64_t page, uint64_t most);

/* -- a path of the user's -- */

struct text {
	char *to;
	size_t bytes;
};

/* Writes the text, and returns `error`. */
__attribute__((format(printf, 3, 4))) int text_refuse(struct text text, int error, const char *format, ...);

struct place {
	int fd; /* without a name if it is a file */
	bool is_device;
	uint64_t start;		  /* offset of the first page, in bytes */
	char directory[PATH_MAX]; /* where a copy of the file can be made */
};

/* 0 or a negative errno with a reason in `text`. */
int place_open(struct place *place, const char *path, uint64_t pages, struct text text);
/* Makes another file in the same directory, of the same size. A descriptor or a negative errno. */
int place_open_beside(const struct place *place);

/* Around calls that may make a file too large (RLIMIT_FSIZE): that is an error, and must not end
 * the program by SIGXFSZ. `came`: the error was EFBIG. */
void hold_too_large(sigset_t *before);
void release_too_large(const sigset_t *before, bool came);

#endif
