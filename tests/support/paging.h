/* Shared by tests of the pager: pagers that must open, and memory with one word a page that
 * identifies page and round. */
#ifndef TESTS_PAGING_H
#define TESTS_PAGING_H

#include <errno.h>
#include <stdio.h>

#include "pager.h"

#define MIB  ((size_t)1 << 20)
#define PAGE 4096u

static char pager_error[300];

static inline struct uvmp_pager *open_config(const struct uvmp_pager_config *config)
{
	struct uvmp_pager *pager = NULL;

	if (uvmp_pager_create(config, &pager, pager_error, sizeof(pager_error)) != 0)
		fail_msg("%s", pager_error);
	return pager;
}

static inline struct uvmp_pager *open_with(uint64_t budget, const char *policy, const char *store)
{
	struct uvmp_pager_config config;

	uvmp_pager_config_init(&config);
	config.budget_bytes = budget;
	config.policy = policy;
	config.store = store;
	return open_config(&config);
}

/* Can pagers with this store be made here at all? Else says so, for the tests that are then skipped. */
static inline bool can_page(const char *store)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	int status;

	uvmp_pager_config_init(&config);
	config.budget_bytes = UVMP_PAGER_BUDGET_LEAST;
	config.store = store;
	status = uvmp_pager_create(&config, &pager, pager_error, sizeof(pager_error));
	if (status == 0)
		uvmp_pager_destroy(pager);
	if (status != -EPERM && status != -ENOSYS && status != -ENOTSUP)
		return true;
	printf("skipped: %s\n[  PASSED  ] 0 test(s).\n", pager_error);
	return false;
}

static inline struct uvmp_pager_stats stats_of(struct uvmp_pager *pager)
{
	struct uvmp_pager_stats stats;

	uvmp_pager_stats(pager, &stats);
	return stats;
}

static inline uint64_t word_of(uint64_t i, uint64_t round)
{
	return (i + 1u) * 0x9e3779b97f4a7c15u + round;
}

static inline uint64_t *word_at(const void *memory, size_t page)
{
	return (uint64_t *)(uintptr_t)memory + page * PAGE / 8u + page % 512u;
}

/* Pages are numbered from the beginning of the memory. */
static inline void write_from(void *memory, size_t first, size_t pages, uint64_t round)
{
	for (size_t i = first; i < first + pages; i++)
		*word_at(memory, i) = word_of(i, round);
}

/* The first page that is wrong; none: first + pages. */
static inline size_t first_wrong(const void *memory, size_t first, size_t pages, uint64_t round)
{
	size_t i = first;

	while (i < first + pages && *word_at(memory, i) == word_of(i, round))
		i++;
	return i;
}

static inline void check_from(const void *memory, size_t first, size_t pages, uint64_t round)
{
	size_t wrong = first_wrong(memory, first, pages, round);

	if (wrong != first + pages)
		fail_msg("page %zu of round %u", wrong, (unsigned)round);
}

static inline void write_pages(void *memory, size_t bytes, uint64_t round)
{
	write_from(memory, 0, bytes / PAGE, round);
}

static inline bool are_pages(const void *memory, size_t bytes, uint64_t round)
{
	return first_wrong(memory, 0, bytes / PAGE, round) == bytes / PAGE;
}

static inline void check_pages(const void *memory, size_t bytes, uint64_t round)
{
	check_from(memory, 0, bytes / PAGE, round);
}

#endif
