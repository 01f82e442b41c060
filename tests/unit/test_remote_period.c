/* remote=auto: when are the periods of a tenant expected to be long (remote_period.c)? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/engine_internals.h"

#define COST 100u /* of moving a block */

static struct idle idle;

/* Tenants. */
enum { X, Y, Z };

static struct idle_tenant *at(uint32_t tenant)
{
	return &idle.tenant[tenant];
}

static int begin(void **state)
{
	(void)state;
	memset(&idle, 0, sizeof(idle));
	return 0;
}

/* So many blocks of the tenant are remote, and one of them is notified. */
static void note(uint32_t tenant, uint32_t remote)
{
	at(tenant)->remote = remote;
	uvmpi_period_note(&idle, at(tenant), COST);
	at(tenant)->heard = ++idle.now;
}

/* Accesses to the tenant cost a whole round. */
static void go_round(uint32_t tenant)
{
	idle.before = idle.now;
	uvmpi_period_complete(at(tenant));
}

/* So many blocks return without a draw: how many rounds are complete by that? */
static uint32_t let_return(uint32_t tenant, uint32_t blocks)
{
	uint32_t rounds = 0;

	for (uint32_t i = 0; i < blocks; i++)
		rounds += uvmpi_period_return(&idle, at(tenant));
	return rounds;
}

/* A watched period of 10 blocks. */
static void watch(uint32_t tenant, bool is_long)
{
	note(tenant, 10);
	assert_int_equal(at(tenant)->period, PERIOD_WATCHED);
	go_round(tenant);
	assert_int_equal(at(tenant)->period, PERIOD_RETURNING);
	assert_int_equal(let_return(tenant, 5 + is_long), 0);
	assert_int_equal(at(tenant)->period, is_long ? PERIOD_LONG : PERIOD_RETURNING);
	go_round(tenant);
}

static void expect(uint32_t tenant)
{
	note(tenant, 10);
	assert_int_equal(at(tenant)->period, PERIOD_EXPECTED);
	go_round(tenant);
}

/* After a long period 2, 4, 8, 16 and again 16 are expected to be long, and then one is watched. */
static void test_expected_periods(void **state)
{
	static const uint32_t expected[] = {2, 4, 8, 16, 16};

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		watch(X, true);
		for (uint32_t k = 0; k < expected[i]; k++)
			expect(X);
	}
	watch(X, false);
	watch(X, false);
	watch(X, true); /* after a short one it begins with 2 again */
	expect(X);
	expect(X);
	watch(X, true);
}

/* More than half of the most blocks that were remote in the period return. */
static void test_how_many_return(void **state)
{
	(void)state;
	note(X, 1);
	at(X)->most = 7; /* more blocks of it have become remote */
	go_round(X);
	let_return(X, 3);
	assert_int_equal(at(X)->period, PERIOD_RETURNING);
	let_return(X, 1);
	assert_int_equal(at(X)->period, PERIOD_LONG);
	let_return(X, 100); /* says nothing more */
	assert_int_equal(at(X)->gap, 2);
	assert_int_equal(at(X)->left, 2);
}

/* Returns count after a complete round only. */
static void test_returns_before_a_round(void **state)
{
	(void)state;
	note(X, 10);
	let_return(X, 10);
	assert_int_equal(at(X)->period, PERIOD_WATCHED);
	go_round(X);
	go_round(X);
	let_return(X, 6);
	assert_int_equal(at(X)->period, PERIOD_LONG);
}

/* In an expected period a round is complete once, by returns; else all remote blocks of its beginning count. */
static void test_rounds_of_expected_periods(void **state)
{
	(void)state;
	watch(X, true);
	at(X)->remote = 9;
	assert_int_equal(uvmpi_period_round(at(X)), 9);
	note(X, 8);
	assert_true(uvmpi_period_is_expected(at(X)));
	at(X)->remote = 3;
	assert_int_equal(uvmpi_period_round(at(X)), 8);
	assert_int_equal(let_return(X, 4), 0);
	assert_int_equal(let_return(X, 1), 1);
	assert_int_equal(let_return(X, 100), 0);
	go_round(X);
	assert_true(uvmpi_period_is_expected(at(X))); /* it is not judged */
}

/* A period begins with the first notification after a whole round of any tenant. */
static void test_when_a_period_begins(void **state)
{
	(void)state;
	note(X, 10);
	note(Y, 10);
	assert_int_equal(at(X)->opened, 0);
	note(X, 10);
	assert_int_equal(at(X)->opened, 0);
	idle.before = at(X)->heard - 1;
	note(X, 10);
	assert_int_equal(at(X)->opened, 0);
	idle.before = at(X)->heard;
	note(X, 10);
	assert_int_equal(at(X)->opened, 4);
}

/* Those that were notified beside the tenant do not make room for it, until it is watched again. */
static void test_who_makes_room(void **state)
{
	const uint32_t all = 1u << X | 1u << Y | 1u << Z;

	(void)state;
	note(Z, 10);
	note(X, 10);
	note(Y, 10);
	note(X, 10);
	go_round(X);
	let_return(X, 6);
	go_round(X);
	note(X, 10);
	assert_true(uvmpi_period_is_expected(at(X)));
	assert_int_equal(uvmpi_period_gives(at(X), all), 1u << Z);
	note(Z, 10);
	note(X, 10);
	assert_int_equal(uvmpi_period_gives(at(X), all), 0);
	go_round(X);
	expect(X);
	assert_int_equal(uvmpi_period_gives(at(X), all), 0);
	note(X, 10);
	assert_int_equal(at(X)->period, PERIOD_WATCHED);
	assert_int_equal(uvmpi_period_gives(at(X), all), 1u << Y | 1u << Z);
}

/* Two long periods in a row speak for tenants that are not judged. */
static void test_other_tenants(void **state)
{
	(void)state;
	watch(X, true);
	note(Y, 10);
	assert_int_equal(at(Y)->period, PERIOD_WATCHED);
	go_round(Y);
	let_return(Y, 6);
	go_round(Y);
	note(Z, 10);
	assert_int_equal(at(Z)->period, PERIOD_EXPECTED);
	assert_int_equal(at(Z)->left, 1);
	go_round(Z);
	expect(Z);
	note(Z, 10);
	assert_int_equal(at(Z)->period, PERIOD_WATCHED); /* after two periods, with or without a verdict of its own */
	go_round(Z);
	expect(X);
	expect(X);
	watch(X, false);
	expect(6); /* X is judged when its next period begins */
	watch(X, true);
	note(7, 10);
	assert_int_equal(at(7)->period, PERIOD_WATCHED); /* a short period of X, and a long one */
	go_round(7);
	watch(4, true);
	note(5, 10);
	assert_int_equal(at(5)->period, PERIOD_EXPECTED);
}

/* A watched period with few accesses says nothing about others, and about the tenant only if it had about as many blocks. */
static void test_few_accesses(void **state)
{
	(void)state;
	watch(X, true);
	watch(Y, true);
	assert_int_equal(idle.longs, 2);
	idle.longs = 0;
	note(Z, 10);
	note(4, 4);
	note(5, 5);
	idle.longs = 2;
	at(Z)->spent = 5 * COST;
	at(4)->spent = at(5)->spent = 5 * COST - 1;
	idle.before = idle.now;
	note(4, 10);
	assert_int_equal(at(4)->period, PERIOD_EXPECTED); /* 4 of 10 blocks */
	note(5, 10);
	assert_int_equal(at(5)->period, PERIOD_WATCHED); /* 5 of 10 */
	assert_int_equal(idle.longs, 2);
	note(Z, 10);
	assert_int_equal(at(Z)->period, PERIOD_WATCHED);
	assert_int_equal(idle.longs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(test_expected_periods, begin),
	        cmocka_unit_test_setup(test_how_many_return, begin),
	        cmocka_unit_test_setup(test_returns_before_a_round, begin),
	        cmocka_unit_test_setup(test_rounds_of_expected_periods, begin),
	        cmocka_unit_test_setup(test_when_a_period_begins, begin),
	        cmocka_unit_test_setup(test_who_makes_room, begin),
	        cmocka_unit_test_setup(test_other_tenants, begin),
	        cmocka_unit_test_setup(test_few_accesses, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
