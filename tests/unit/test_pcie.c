/* pcie.h: the tables of [uvmsmart: transfer-time], the synchronisation's pieces, quirk
 * [uvmsmart: zero-by-zero]. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/naive_pcie.h"
#include "pcie.h"

static const struct pcie link16 = {16, 1481};

static void test_table(void **state)
{
	static const uint64_t row[][2] = {
	        {1, 2535},         {4096, 2605},      {8192, 2800},    {12288, 3086},   {16384, 3430},
	        {32768, 5074},     {61440, 8240},     {65536, 8702},   {126976, 15695}, {131072, 16163},
	        {258048, 30723},   {262144, 31193},   {520192, 60836}, {524288, 61307}, {1044480, 121089},
	        {1048576, 121560}, {2097152, 242080},
	};
	struct pcie link32 = {32, 1481};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(pcie_cycles(&link16, PCIE_MIGRATION, row[i][0]), row[i][1]);
	assert_int_equal(pcie_cycles(&link32, PCIE_MIGRATION, 65536), 4351);
}

/* An explicit copy has half the speed from 2 MiB on. */
static void test_copy(void **state)
{
	(void)state;
	assert_int_equal(pcie_cycles(&link16, PCIE_COPY, 65536), 8702);
	assert_int_equal(pcie_cycles(&link16, PCIE_COPY, 2097152), 484160);
	assert_int_equal(pcie_cycles(&link16, PCIE_COPY, 4194304), 966252);
	assert_true(pcie_cycles(&link16, PCIE_COPY, 2097151) < 242081);
	assert_int_equal(pcie_cycles(&link16, PCIE_SYNC, 2097152), 242080);
}

/* The argument of the arctangent of a copy is a 32-bit float. */
static void test_rounding(void **state)
{
	static const uint64_t row[][3] = {{43768, 6270, 6269}, {45770, 6491, 6490}, {54408, 7451, 7452}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(pcie_cycles(&link16, PCIE_MIGRATION, row[i][0]), row[i][1]);
		assert_int_equal(pcie_cycles(&link16, PCIE_SYNC, row[i][0]), row[i][2]);
		assert_int_equal(naive_pcie_cycles(&link16, PCIE_MIGRATION, row[i][0]), row[i][1]);
		assert_int_equal(naive_pcie_cycles(&link16, PCIE_SYNC, row[i][0]), row[i][2]);
	}
}

static void test_limits(void **state)
{
	struct pcie pcie = {64, PCIE_MHZ_MAX};

	(void)state;
	/* 64 GiB at 48 GiB/s, less what the arc misses to a right angle */
	assert_int_equal(pcie_cycles(&pcie, PCIE_MIGRATION, PCIE_BYTES_MAX) / 1000000, 87380);
	assert_int_equal(pcie_cycles(&pcie, PCIE_MIGRATION, PCIE_BYTES_MAX + 1), 0);
	assert_int_equal(pcie_cycles(&pcie, PCIE_SYNC, 0), 0);
	assert_false(pcie_is_valid(NULL));
	pcie.clock_mhz++;
	assert_false(pcie_is_valid(&pcie));
	pcie.clock_mhz = 0;
	assert_false(pcie_is_valid(&pcie));
	pcie.clock_mhz = 1;
	assert_true(pcie_is_valid(&pcie));
	pcie.gbps = 17;
	assert_false(pcie_is_valid(&pcie));
	assert_int_equal(pcie_cycles(&pcie, PCIE_MIGRATION, 4096), 0);
}

static void check_pieces(uint64_t bytes, bool quirks, const uint64_t *expected, size_t count)
{
	struct pcie_sync sync = {bytes, 0, quirks};
	uint64_t piece;

	for (size_t i = 0; i < count; i++) {
		assert_true(pcie_sync_next(&sync, &piece));
		assert_int_equal(piece, expected[i]);
	}
	assert_false(pcie_sync_next(&sync, &piece));
}

static void test_pieces(void **state)
{
	const uint64_t k = 1024, k4 = 4 * k;
	const uint64_t cycle[] = {k4,      60 * k, k4,      60 * k, k4,       124 * k, k4,
	                          252 * k, k4,     508 * k, k4,     1020 * k, k4,      60 * k};
	const uint64_t cut[] = {k4, 60 * k, k4, 1}, tail[] = {k4, 60 * k, 4095}, zero[] = {k4, 0};

	(void)state;
	check_pieces(0, true, NULL, 0);
	check_pieces(2048 * k + 64 * k, true, cycle, 14);
	check_pieces(68 * k + 1, true, cut, 4);
	check_pieces(64 * k + 4095, true, tail, 3);
	check_pieces(4095, true, &tail[2], 1);
	/* [uvmsmart: zero-by-zero] */
	check_pieces(4096, false, zero, 1);
	check_pieces(4096, true, zero, 2);
}

static void test_sync(void **state)
{
	static const uint64_t row[][2] = {{2, 5210}, {16, 10845}, {32, 21690}, {64, 39990}, {512, 260453}};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(pcie_sync_cycles(&link16, 4096 * row[i][0], true), row[i][1]);
	assert_int_equal(pcie_sync_cycles(&link16, 4096, false), 2605);
	assert_true(pcie_sync_cycles(&link16, 4096, true) == ((uint64_t)1 << 63) + 2605);
	assert_int_equal(pcie_sync_cycles(&link16, 69632, false), 13450);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_table),  cmocka_unit_test(test_copy),   cmocka_unit_test(test_rounding),
	        cmocka_unit_test(test_limits), cmocka_unit_test(test_pieces), cmocka_unit_test(test_sync),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
