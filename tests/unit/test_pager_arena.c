/* An engine of the pager that can get no more arena: a request reports the failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "model/short_arena.h"
#include "pager_internal.h"
#include "support/paging.h"

/* The first segment is used up, and no further one can be added. */
static void test_prefetch_without_arena(void **state)
{
	struct uvmp_pager_config config;
	struct uvmp_pager *pager;
	char text[256], *memory;
	void *none = &config; /* not NULL: this segment is taken */
	uint32_t end;

	(void)state;
	uvmp_pager_config_init(&config);
	config.budget_bytes = 8u * MIB;
	assert_int_equal(uvmp_pager_create(&config, &pager, text, sizeof(text)), 0);
	memory = uvmp_pager_alloc(pager, 4u * MIB);
	assert_non_null(memory);
	memory[0] = 1;
	for (uint32_t i = 0; i < SEGMENTS_MORE; i++)
		pager->segment[i] = none;
	end = short_arena_begin(pager->service);
	assert_int_equal(uvmp_pager_prefetch(pager, memory + 2u * MIB, 2u * MIB, true), -ENOMEM);
	short_arena_end(pager->service, end);
	for (uint32_t i = 0; i < SEGMENTS_MORE; i++)
		pager->segment[i] = NULL;
	uvmp_pager_destroy(pager);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_prefetch_without_arena)};

	if (!can_page(NULL))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
