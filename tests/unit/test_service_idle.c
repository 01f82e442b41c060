/* remote=auto in the engine: data take the place of idle ones at once (remote_idle.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "evict/evict_internal.h"
#include "support/engine_host.h"
#include "support/engine_internals.h"

#define MIB2   0x200000u
#define SPACE  1u
#define BLOCKS 20u /* of an allocation */
#define ROOTS  16u /* of memory */
#define HALF   262u /* of the cost of moving a block, in copies; a notification is as many, and the limit */

/* Allocations; the first one is tenant 0. */
enum { X, Y, Z };

static struct engine host;

static uvmp_addr at(uint32_t allocation, uint32_t block)
{
	return 0x40000000u + (uvmp_addr)allocation * 0x10000000u + (uvmp_addr)block * MIB2;
}

static struct range *range_at(uvmp_addr address)
{
	struct uvmp_service *s = host.service;

	return &s->range[s->range_order[uvmpi_range_find(s, uvmpi_space_find(s, SPACE), address)]];
}

static struct idle *idle(void)
{
	return &host.service->gpu[1].idle;
}

static struct idle_tenant *tenant(uint32_t allocation)
{
	return &idle()->tenant[allocation];
}

/* A notification of the block moved its first 32 pages by this rule, or they stay by it. */
static bool has_rule(const char *kind, uvmp_addr address, const char *rule)
{
	char start[64], end[32];
	const char *line;

	snprintf(start, sizeof(start), "%s cause=counter space=1 block=0x%llx pages=", kind, (unsigned long long)address);
	snprintf(end, sizeof(end), " rule=%s ", rule);
	line = strstr(host.text, start);
	return line != NULL && strstr(line, end) != NULL && strstr(line, end) < strchr(line, '\n');
}

static bool is_here(uvmp_addr address)
{
	return engine_page(&host, SPACE, address).resident == 2u;
}

/* The block moves at its first fault, or begins on the CPU. */
static void fault(uvmp_addr address, bool moves)
{
	range_at(address)->first_faults = (struct uvmp_remote_start){.left = moves};
	engine_fault(&host, 1, SPACE, address, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(is_here(address), moves);
}

static void let_move(uint32_t allocation, uint32_t first, uint32_t end)
{
	for (uint32_t block = first; block < end; block++)
		fault(at(allocation, block), true);
}

/* Not chosen by the draw, or chosen. */
static void draw(bool is_chosen)
{
	uint64_t draws = 1, next;

	do
		next = ++draws;
	while (uvmp_remote_is_chosen(&next) != is_chosen);
	host.service->return_draws = draws;
}

static void note(uvmp_addr address, bool is_chosen)
{
	const struct uvmp_note note = {
	        .address = address, .aperture = UVMP_APERTURE_VID, .instance = engine_instance(SPACE), .sub_granularity = 1};

	draw(is_chosen);
	engine_forget(&host);
	assert_int_equal(uvmp_service_note(host.service, 1, &note), UVMP_OK);
	(void)engine_run(&host); /* the status of the last DONE */
	assert_true(uvmp_service_check(host.service));
}

#define POLICY "counter_threshold=8384 prefetch=block thrash=off replay=batch "
#define AUTO   POLICY "remote=auto evict=auto"

static void begin(const char *policy)
{
	engine_init(&host, 1, ROOTS);
	host.gpu[0].notes = 64;
	assert_true(engine_policy(&host, policy));
	assert_true(engine_start(&host, 80, 1 << 20));
	engine_bind(&host, 1, SPACE);
	for (uint32_t i = X; i <= Z; i++)
		engine_range(&host, SPACE, at(i, 0), BLOCKS * MIB2, UVMP_CPU);
}

/* Memory is full of `xs` blocks of X and the rest of Y; the oldest are those of Y, or of X. One more block of X has pushed out the
 * oldest. Then a block of X begins on the CPU, X16. */
static void fill(uint32_t xs, bool is_x_older)
{
	begin(AUTO);
	if (is_x_older)
		let_move(X, 0, xs);
	let_move(Y, 0, ROOTS - xs);
	if (!is_x_older)
		let_move(X, 0, xs);
	assert_false(host.service->is_full);
	fault(at(X, 15), true);
	assert_true(host.service->is_full);
	fault(at(X, 16), false);
}

/* The host knows no page of a range that was freed. */
static int stop_freed(void **state)
{
	(void)state;
	assert_true(uvmp_service_check(host.service));
	engine_stop(&host);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_true(engine_agrees(&host));
	assert_true(uvmp_service_check(host.service));
	engine_stop(&host);
	return 0;
}

/* Blocks that were evicted, begin on the CPU, return, and end. */
static void test_remote_blocks_are_counted(void **state)
{
	(void)state;
	fill(8, false);
	assert_int_equal(tenant(X)->remote, 1);
	assert_int_equal(tenant(Y)->remote, 1);
	assert_int_equal(tenant(Z)->remote, 0);
	note(at(X, 16), true);
	assert_true(is_here(at(X, 16)));
	assert_true(has_rule("copy", at(X, 16), "drawn"));
	assert_int_equal(tenant(X)->remote, 0);
	assert_int_equal(tenant(Y)->remote, 2);
	fault(at(Y, 16), false);
	assert_int_equal(tenant(Y)->remote, 3);
	assert_int_equal(uvmp_service_migrate(host.service, SPACE, at(Y, 16), MIB2, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_true(is_here(at(Y, 16)));
	assert_int_equal(tenant(Y)->remote, 3); /* it has pushed out another one */
	assert_int_equal(uvmp_service_free_range(host.service, SPACE, at(Y, 0), NULL), UVMP_OK);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(tenant(Y)->remote, 0);
}

/* A block that is evicted in parts counts once. */
static void test_a_block_that_leaves_in_parts(void **state)
{
	handle h;

	(void)state;
	fill(8, false);
	h = uvmpi_block_find(host.service, uvmpi_space_find(host.service, SPACE), at(Y, 0));
	uvmpi_idle_leave(host.service, block_at(host.service, h), uvmpi_residency_find(host.service, block_at(host.service, h), 1));
	assert_int_equal(tenant(Y)->remote, 1);
}

/* Y has not been used while X has gone round: X returns, and Y leaves. */
static void test_data_take_the_place_of_idle_ones(void **state)
{
	(void)state;
	fill(8, false);
	note(at(X, 16), false);
	assert_false(is_here(at(X, 16)));
	assert_true(has_rule("clear", at(X, 16), "not-drawn"));
	note(at(X, 16), false);
	assert_true(is_here(at(X, 16)));
	assert_true(has_rule("copy", at(X, 16), "idle"));
	for (uint32_t i = 0; i < 8; i++)
		assert_true(is_here(at(X, i)));
	assert_false(is_here(at(Y, 1)));
	fault(at(X, 17), false); /* the next block need not wait for its limit */
	host.service->policy.counter_threshold = 1;
	note(at(X, 17), false);
	assert_true(is_here(at(X, 17)));
	assert_true(has_rule("copy", at(X, 17), "idle"));
	assert_false(is_here(at(Y, 2)));
}

/* X was used for more than a round before: its block returns with its first notification, and Y leaves. */
static void test_data_return_as_expected(void **state)
{
	(void)state;
	fill(8, false);
	tenant(X)->is_judged = true;
	tenant(X)->left = 1;
	host.service->policy.counter_threshold = 1;
	note(at(X, 16), false);
	assert_true(is_here(at(X, 16)));
	assert_true(has_rule("copy", at(X, 16), "expected"));
	assert_false(is_here(at(Y, 1)));
	assert_int_equal(tenant(X)->before, tenant(X)->opened); /* all of its remote blocks have returned: a round */
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X);
}

/* The same, but Y was used beside X. */
static void test_data_beside_stay(void **state)
{
	(void)state;
	fill(8, false);
	tenant(X)->is_judged = true;
	tenant(X)->left = 1;
	tenant(X)->beside = 1u << Y;
	host.service->policy.counter_threshold = 1;
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->period, PERIOD_EXPECTED);
	assert_false(is_here(at(X, 16)));
	assert_true(has_rule("clear", at(X, 16), "below-limit"));
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X);
}

/* Y has been used meanwhile. */
static void test_data_in_use_stay(void **state)
{
	(void)state;
	fill(8, false);
	for (uint32_t i = 0; i < 6; i++) {
		note(at(X, 16), false);
		assert_false(is_here(at(X, 16)));
		note(at(Y, 0), false);
		assert_false(is_here(at(Y, 0)));
	}
	for (uint32_t i = 0; i < 3; i++) {
		note(at(X, 16), false);
		assert_false(is_here(at(X, 16)));
	}
	note(at(X, 16), false);
	assert_true(is_here(at(X, 16))); /* it has not been used for a whole round */
}

/* A round is as long as all remote blocks of the tenant. */
static void test_rounds(void **state)
{
	(void)state;
	fill(8, false);
	fault(at(X, 17), false);
	for (uint32_t i = 0; i < 3; i++)
		note(at(X, 16), false);
	assert_int_equal(tenant(X)->spent, 3 * HALF);
	assert_false(is_here(at(X, 16)));
	note(at(X, 17), false);
	assert_true(is_here(at(X, 17)));
	assert_int_equal(tenant(X)->spent, 0);
	assert_int_equal(tenant(X)->begun, idle()->now);
}

/* A tenant that was not notified while another one has gone round begins a round; not if both are notified in turn. */
static void test_a_round_after_silence(void **state)
{
	uint64_t now;

	(void)state;
	fill(8, false);
	fault(at(X, 17), false);
	fault(at(X, 18), false);
	for (uint32_t i = 0; i < 3; i++) {
		note(at(X, 16), false);
		note(at(Y, 0), false);
	}
	assert_int_equal(tenant(X)->spent, 3 * HALF); /* although Y has gone round once */
	note(at(Y, 0), false);
	assert_int_equal(tenant(Y)->spent, 0);
	note(at(Y, 0), false);
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->spent, 4 * HALF); /* and since its last round began X was notified */
	note(at(Y, 0), false);
	note(at(Y, 0), false);
	assert_false(is_here(at(Y, 0)));
	note(at(Y, 0), false);
	assert_true(is_here(at(Y, 0))); /* X is idle for Y */
	now = idle()->now;
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->begun, now);
	assert_int_equal(tenant(X)->spent, HALF);
}

/* The tenant that pushes out the first block of another one makes its own round start again. */
static void test_the_first_block_that_leaves(void **state)
{
	(void)state;
	begin(AUTO);
	let_move(Z, 0, 1);
	let_move(Y, 0, 3);
	let_move(X, 0, ROOTS - 4);
	fault(at(X, 15), true); /* Z0 leaves */
	fault(at(X, 16), false);
	fault(at(X, 17), false);
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->spent, HALF);
	assert_int_equal(tenant(Y)->remote, 0);
	note(at(X, 17), true); /* X17 returns, and Y0 leaves */
	assert_true(is_here(at(X, 17)));
	assert_int_equal(tenant(Y)->remote, 1);
	assert_int_equal(tenant(X)->spent, 0);
	assert_int_equal(tenant(X)->begun, tenant(Y)->noted);
	note(at(X, 16), false);
	assert_false(is_here(at(X, 16)));
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->before, tenant(Y)->noted);
	assert_true(is_here(at(X, 16))); /* Y has been idle for this round, and Z for longer, but has no memory */
}

/* An idle tenant without memory gives no room. */
static void test_idle_without_memory(void **state)
{
	(void)state;
	fill(15, false);
	assert_false(is_here(at(Y, 0)));
	for (uint32_t i = 0; i < 8; i++)
		note(at(X, 16), false);
	assert_false(is_here(at(X, 16)));
	assert_int_equal(tenant(Y)->remote, 1);
}

/* What returns does not push out data of tenants in use, although they are the oldest. */
static void test_data_in_use_are_spared(void **state)
{
	(void)state;
	fill(6, true); /* X0 has left */
	note(at(X, 16), true);
	assert_true(is_here(at(X, 16)));
	for (uint32_t i = 1; i < 6; i++)
		assert_true(is_here(at(X, i)));
	assert_false(is_here(at(Y, 0)));
}

/* A fault pushes out the oldest block, in use or not. */
static void test_faults_spare_nothing(void **state)
{
	(void)state;
	fill(6, true); /* X0 has left */
	note(at(X, 16), false);
	fault(at(Z, 0), true);
	assert_false(is_here(at(X, 1)));
	assert_true(is_here(at(Y, 0)));
}

/* Those that were notified in the present round are in use. If these are all, the one notified the longest ago makes room. */
static void test_which_are_in_use(void **state)
{
	(void)state;
	fill(8, false);
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X);
	note(at(Y, 0), false);
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << Y); /* of X and Y */
	note(at(X, 16), false);
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X);
	fault(at(Z, 0), true);
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X | 1u << Y);
	fault(at(Z, 1), false); /* the first block of Z: a round of X begins, and those of the last one are in use */
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X | 1u << Z);
	note(at(Z, 1), false); /* of X, Y and Z */
	tenant(Z)->begun = 0;
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X | 1u << Z);
	note(at(Y, 0), false);
	tenant(Y)->begun = 0;
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << Y | 1u << Z);
	tenant(Y)->before = tenant(Z)->noted;
	tenant(Y)->begun = idle()->now; /* a round has just ended, in which Z was not notified */
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << Y);
	tenant(Y)->before--;
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << Y | 1u << Z);
}

/* All of memory is one tenant's. */
static void test_one_tenant(void **state)
{
	(void)state;
	begin(AUTO);
	let_move(X, 0, ROOTS);
	fault(at(X, 17), true);
	fault(at(X, 18), false);
	note(at(X, 18), true);
	assert_true(is_here(at(X, 18)));
	assert_false(is_here(at(X, 1)));
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << X);
}

/* Without notifications nothing is known of any tenant, and other orders know no tenants. */
static void test_without_tenants(void **state)
{
	(void)state;
	begin(POLICY "remote=auto evict=lru2m");
	let_move(Y, 0, ROOTS);
	fault(at(X, 15), true);
	fault(at(X, 16), false);
	for (uint32_t i = 0; i < 4; i++)
		note(at(X, 16), false);
	assert_false(is_here(at(X, 16)));
	assert_int_equal(idle()->now, 0);
	assert_int_equal(tenant(X)->remote, 0);
	assert_int_equal(uvmpi_idle_used(host.service, 1), 0);
	assert_int_equal(uvmpi_idle_rule(host.service, 1), UVMP_RULE_NONE);
}

/* A round ends when the copies reach the cost of all blocks; parts of a copy count as one. */
static void test_the_end_of_a_round(void **state)
{
	(void)state;
	fill(8, false);
	fault(at(X, 17), false);
	host.service->policy.counter_threshold = 33; /* two copies */
	tenant(X)->spent = 4 * HALF - 3u;
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->spent, 4 * HALF - 1u);
	assert_false(is_here(at(X, 16)));
	assert_true(has_rule("clear", at(X, 16), "below-limit"));
	note(at(X, 16), false);
	assert_int_equal(tenant(X)->spent, 0);
	assert_true(is_here(at(X, 16)));
}

/* A tenant that has no remote block, or was never notified, is not idle: nothing is known of it. */
static void test_nothing_is_known_of_others(void **state)
{
	(void)state;
	fill(8, false);
	fault(at(Z, 0), true); /* pushes out Y1 */
	for (uint32_t i = 0; i < 8; i++) {
		note(at(X, 16), false);
		note(at(Y, 0), false);
	}
	assert_false(is_here(at(X, 16)));
	assert_int_equal(tenant(Z)->remote, 0);
	assert_true(is_here(at(Z, 0)));
}

/* Tenants repeat after 16 slots. */
static void test_many_allocations(void **state)
{
	(void)state;
	engine_init(&host, 1, ROOTS);
	host.gpu[0].notes = 64;
	host.params.ranges = 20;
	assert_true(engine_policy(&host, AUTO));
	assert_true(engine_start(&host, 80, 1 << 20));
	engine_bind(&host, 1, SPACE);
	for (uint32_t i = 0; i < 20; i++)
		engine_range(&host, SPACE, at(i, 0), MIB2, UVMP_CPU);
	fault(at(14, 0), true);
	host.service->is_full = true;
	fault(at(0, 0), false);
	fault(at(15, 0), false);
	fault(at(16, 0), false);
	fault(at(18, 0), false);
	assert_int_equal(tenant(0)->remote, 2); /* slots 0 and 16 */
	assert_int_equal(tenant(2)->remote, 1);
	assert_int_equal(tenant(15)->remote, 1);
	note(at(15, 0), false);
	assert_int_equal(idle()->latest, 15);
	tenant(15)->begun = tenant(15)->before = 0;
	assert_int_equal(uvmpi_idle_used(host.service, 1), 1u << 0 | 1u << 2 | 1u << 15);
	assert_int_equal(uvmpi_evict_tenants(&host.service->gpu[1].order), 1u << 14);
}

/* The check finds a block that counts for another tenant, or for none. */
static void test_check(void **state)
{
	handle h;
	struct residency *residency;

	(void)state;
	fill(8, false);
	h = uvmpi_block_find(host.service, uvmpi_space_find(host.service, SPACE), at(X, 16));
	residency = uvmpi_residency_find(host.service, block_at(host.service, h), 1);
	assert_true(uvmp_service_check(host.service));
	assert_int_equal(residency->remote, X + 1);
	residency->remote = Y + 1;
	assert_false(uvmp_service_check(host.service));
	residency->remote = UVMP_EVICT_TENANTS + 1u;
	assert_false(uvmp_service_check(host.service));
	residency->remote = X + 1;
	tenant(Z)->remote++;
	assert_false(uvmp_service_check(host.service));
	tenant(Z)->remote--;
	residency = uvmpi_residency_find(host.service, block_at(host.service, h), UVMP_CPU);
	residency->remote = X + 1;
	assert_false(uvmp_service_check(host.service));
	residency->remote = 0;
}

/* What one GPU does says nothing of another one's memory. */
static void test_two_gpus(void **state)
{
	const struct uvmp_note other = {.address = at(X, 0), .aperture = UVMP_APERTURE_VID, .instance = engine_instance(SPACE),
		.sub_granularity = 1};

	(void)state;
	engine_init(&host, 2, ROOTS);
	host.gpu[0].notes = host.gpu[1].notes = 64;
	assert_true(engine_policy(&host, AUTO));
	assert_true(engine_start(&host, 80, 1 << 20));
	engine_bind(&host, 1, SPACE);
	engine_bind(&host, 2, SPACE);
	engine_range(&host, SPACE, at(X, 0), BLOCKS * MIB2, UVMP_CPU);
	host.service->is_full = true;
	engine_fault(&host, 2, SPACE, at(X, 0), UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&host), UVMP_OK);
	assert_int_equal(host.service->gpu[2].idle.tenant[X].remote, 1);
	draw(false);
	assert_int_equal(uvmp_service_note(host.service, 2, &other), UVMP_OK);
	(void)engine_run(&host);
	assert_int_equal(host.service->gpu[2].idle.now, HALF + 1u);
	assert_int_equal(uvmpi_idle_used(host.service, 2), 1u << X);
	assert_int_equal(idle()->now, 0);
	assert_int_equal(tenant(X)->remote, 0);
	assert_int_equal(uvmpi_idle_used(host.service, 1), 0);
}

/* With remote=off notifications return pages as the driver does, and nothing is known of tenants. */
static void test_remote_off(void **state)
{
	(void)state;
	begin(POLICY "remote=off counters=on evict=auto");
	let_move(X, 0, ROOTS / 2);
	let_move(Y, 0, ROOTS / 2);
	fault(at(Y, 15), true); /* X0 leaves, and stays mapped */
	note(at(X, 0), false);
	assert_true(is_here(at(X, 0)));
	assert_null(strstr(host.text, " rule="));
	assert_false(is_here(at(X, 1)));
	assert_int_equal(idle()->now, 0);
	assert_int_equal(tenant(X)->remote, 0);
}

/* Accesses to pages that were mapped on the CPU by advice count, too. */
static void test_mapped_by_advice(void **state)
{
	(void)state;
	fill(8, false);
	assert_int_equal(uvmp_service_advise(host.service, SPACE, at(Z, 0), BLOCKS * MIB2, UVMP_ADVISE_ACCESSED_BY, 1, NULL),
	                 UVMP_OK);
	(void)engine_run(&host);
	assert_int_equal(tenant(Z)->remote, 0);
	note(at(Z, 3), false);
	assert_int_equal(tenant(Z)->remote, 1);
	assert_int_equal(idle()->latest, Z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_teardown(test_remote_blocks_are_counted, stop_freed),
	        cmocka_unit_test_teardown(test_a_block_that_leaves_in_parts, stop),
	        cmocka_unit_test_teardown(test_data_take_the_place_of_idle_ones, stop),
	        cmocka_unit_test_teardown(test_data_return_as_expected, stop),
	        cmocka_unit_test_teardown(test_data_beside_stay, stop),
	        cmocka_unit_test_teardown(test_data_in_use_stay, stop),
	        cmocka_unit_test_teardown(test_rounds, stop),
	        cmocka_unit_test_teardown(test_a_round_after_silence, stop),
	        cmocka_unit_test_teardown(test_the_first_block_that_leaves, stop),
	        cmocka_unit_test_teardown(test_idle_without_memory, stop),
	        cmocka_unit_test_teardown(test_data_in_use_are_spared, stop),
	        cmocka_unit_test_teardown(test_faults_spare_nothing, stop),
	        cmocka_unit_test_teardown(test_which_are_in_use, stop),
	        cmocka_unit_test_teardown(test_one_tenant, stop),
	        cmocka_unit_test_teardown(test_without_tenants, stop),
	        cmocka_unit_test_teardown(test_the_end_of_a_round, stop),
	        cmocka_unit_test_teardown(test_nothing_is_known_of_others, stop),
	        cmocka_unit_test_teardown(test_many_allocations, stop),
	        cmocka_unit_test_teardown(test_check, stop),
	        cmocka_unit_test_teardown(test_two_gpus, stop),
	        cmocka_unit_test_teardown(test_remote_off, stop),
	        cmocka_unit_test_teardown(test_mapped_by_advice, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
