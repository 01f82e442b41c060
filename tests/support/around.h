/* A store around another one: what a test does not want to meddle with goes straight through. First member of the test's
 * own structure. */
#ifndef TESTS_AROUND_H
#define TESTS_AROUND_H

#include "store.h"

struct around {
	struct uvmp_pager_store store, *real;
};

static inline void around_forget(struct uvmp_pager_store *store, uint64_t page, uint64_t pages)
{
	struct uvmp_pager_store *real = ((struct around *)store)->real;

	real->forget(real, page, pages);
}

static inline uint64_t around_size(const struct uvmp_pager_store *store)
{
	const struct uvmp_pager_store *real = ((const struct around *)store)->real;

	return real->size(real);
}

static inline void around_close(struct uvmp_pager_store *store)
{
	struct uvmp_pager_store *real = ((struct around *)store)->real;

	real->close(real);
}

/* Around new memory for so many pages. */
static inline void around_memory(struct around *around, uint64_t pages,
				 int (*read)(struct uvmp_pager_store *, uint64_t, uint64_t, void *),
				 int (*write)(struct uvmp_pager_store *, uint64_t, uint64_t, const void *))
{
	int status;

	around->real = uvmp_store_mem(pages, &status);
	assert_non_null(around->real);
	around->store = (struct uvmp_pager_store){
		.read = read, .write = write, .forget = around_forget, .size = around_size, .close = around_close};
}

#endif
