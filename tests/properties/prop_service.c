/* The engine beside a second one that is written with lists and loops: a million random events, half of them
 * from a fixed seed, and every action is the same; what must hold of the state is checked after each event
 * (tests/model/service_case.c). The nightly run is tests/soak. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/service_case.h"
#include "support/seed.h"

#define EVENTS      500000u
#define CASE_EVENTS 4000u

static void live(uint64_t seed)
{
	static char error[8192];
	struct service_case_stats stats = {0};

	for (uint64_t i = 0; stats.events < test_share_of(EVENTS); i++) {
		enum service_case_level level = (enum service_case_level)(i % SERVICE_CASE_LEVELS);
		uint64_t own = (seed + i) * 0x9e3779b97f4a7c15u;

		if (!service_case_run(own, CASE_EVENTS, level, &stats, NULL, error, sizeof(error)))
			fail_msg("case 0x%" PRIx64 " of level %d: %s", own, (int)level, error);
	}
	if (test_share_of(EVENTS) < EVENTS) /* a share need not have met everything */
		return;
	assert_true(stats.withdrawn > 0 && stats.returned > 0 && stats.refused > 0);
	assert_true(stats.event[SERVICE_CASE_ARRIVE] > 0);
	for (int kind = 0; kind < UVMP_ACTION_COUNT; kind++) {
		uint64_t sum = 0;

		for (int cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
			sum += stats.action[kind][cause];
		if (sum == 0 && kind != UVMP_ACTION_LIMIT &&
		    kind != UVMP_ACTION_PATTERN && /* no controllers */
		    kind != UVMP_ACTION_COMPLETE)  /* the host's */
			fail_msg("no action %s", uvmp_action_name((enum uvmp_action_kind)kind));
	}
}

static void same_actions_from_a_fixed_seed(void **state)
{
	(void)state;
	live(20260101);
}

static void same_actions_from_a_new_seed(void **state)
{
	(void)state;
	live(test_seed());
}

/* Once the engine queued pages without a fault that are pinned behind others with one. */
static void pins_come_first(void **state)
{
	static char error[8192];
	struct service_case_stats stats = {0};

	(void)state;
	if (!service_case_run(0x2185638808fc86eau, CASE_EVENTS, SERVICE_CASE_SIMPLE, &stats, NULL, error, sizeof(error)))
		fail_msg("%s", error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(same_actions_from_a_fixed_seed),
	        cmocka_unit_test(same_actions_from_a_new_seed),
	        cmocka_unit_test(pins_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
