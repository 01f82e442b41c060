/* pcie.h against floating point (tests/model/naive_pcie.c) on random sizes, links and clocks; and what must
 * hold for any:
 *  - more bytes never take fewer cycles (a migration of whole pages), twice the bytes never more than twice;
 *  - the pieces of a synchronisation add up, and their cycles too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/naive_pcie.h"
#include "support/seeds.h"
#include "uvmpolicy/base.h"

static uint64_t random_state;

static uint64_t below(uint64_t bound)
{
	return uvmp_random_below(&random_state, bound);
}

static void check_sync(const struct pcie *pcie)
{
	uint64_t bytes = below((uint64_t)1 << below(28)), sum = 0, cycles = 0, piece;
	bool quirks = below(2) == 0, is_odd = false;
	struct pcie_sync sync = {bytes, 0, quirks};

	while (pcie_sync_next(&sync, &piece)) {
		assert_true(piece != 0 || (quirks && sum == bytes && !is_odd));
		is_odd = piece == 0;
		sum += piece;
		cycles += piece == 0 ? (uint64_t)1 << 63 : pcie_cycles(pcie, PCIE_SYNC, piece);
	}
	assert_int_equal(sum, bytes);
	assert_true(cycles == pcie_sync_cycles(pcie, bytes, quirks));
}

static void check_many(uint64_t seed)
{
	random_state = seed;
	for (int i = 0; i < 20000; i++) {
		struct pcie pcie = {16u << below(3), 1 + (uint32_t)below(3000)};
		enum pcie_transfer transfer = (enum pcie_transfer)below(3);
		uint64_t bytes = 1 + below((uint64_t)1 << below(30)), page = 4096 * (1 + below(1024));

		assert_true(pcie_cycles(&pcie, transfer, bytes) == naive_pcie_cycles(&pcie, transfer, bytes));
		assert_true(pcie_cycles(&pcie, transfer, page) == naive_pcie_cycles(&pcie, transfer, page));
		assert_true(pcie_cycles(&pcie, PCIE_MIGRATION, page + 4096) >=
		            pcie_cycles(&pcie, PCIE_MIGRATION, page));
		assert_true(pcie_cycles(&pcie, PCIE_MIGRATION, 2 * page) <=
		            2 * pcie_cycles(&pcie, PCIE_MIGRATION, page) + 2);
		check_sync(&pcie);
	}
}

int main(void)
{
	return seeds_run(check_many);
}
