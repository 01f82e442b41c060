/* residency.h: worked examples of [driver: residency-choice], each row of the table of
 * [driver: residency-choice] with its neighbours, and the rights of [driver: block-service, other-mappings].
 * Small topologies:
 *
 *   pcie: CPU, GPU 1, GPU 2; GPUs map system memory, nothing else;
 *   nvlink: the same, GPUs 1 and 2 joined by a link with atomics;
 *   coherent: CPU and GPUs map each other, atomics everywhere.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "uvmpolicy/residency.h"

#define NONE UVMP_PROC_NONE
#define R    (1u << UVMP_ACCESS_READ)
#define W    (1u << UVMP_ACCESS_WRITE)
#define A    (1u << UVMP_ACCESS_ATOMIC_WEAK)
#define S    (1u << UVMP_ACCESS_ATOMIC_STRONG)

static const struct uvmp_processors pcie = {.count = 3, .can_access = {1, 3, 5}, .native_atomics = {1, 2, 4}};
static const struct uvmp_processors nvlink = {
        .count = 3, .can_access = {1, 7, 7}, .fast_link = {0, 4, 2}, .native_atomics = {1, 6, 6}};
static const struct uvmp_processors coherent = {
        .count = 3, .can_access = {7, 7, 7}, .fast_link = {6, 5, 3}, .native_atomics = {7, 7, 7}};

/* A read fault of GPU 1 on a page that the processors of `resident` hold. */
static struct uvmp_residency_facts read_by_1(uint64_t resident)
{
	struct uvmp_residency_facts facts;

	memset(&facts, 0, sizeof(facts));
	facts.requester = 1;
	facts.accesses = R;
	facts.preferred = facts.pin = NONE; /* as 0, without has_preferred and has_pin */
	facts.resident = resident;
	return facts;
}

static void check(const struct uvmp_processors *processors, const struct uvmp_residency_facts *facts,
                  uint32_t row, uint32_t destination, bool is_duplicate, uint32_t nearest)
{
	struct uvmp_residency_place place;

	assert_int_equal(uvmp_residency_select(processors, facts, &place), UVMP_OK);
	assert_int_equal(place.row, row);
	assert_int_equal(place.to, destination);
	assert_int_equal(place.is_duplicate, is_duplicate);
	assert_int_equal(place.nearest, nearest);
}

/* [driver: residency-choice]. */
static void test_examples(void **unused)
{
	struct uvmp_residency_facts f = read_by_1(0);

	(void)unused;
	check(&pcie, &f, 7, 1, false, NONE);
	f.has_preferred = true;
	f.preferred = 0;
	check(&pcie, &f, 7, 0, false, NONE);
	f = read_by_1(1);
	f.accessed_by = 2;
	check(&pcie, &f, 8, 0, false, 0);
	f = read_by_1(1);
	f.has_preferred = true;
	f.preferred = 2;
	check(&pcie, &f, 12, 1, false, 0);
	f = read_by_1(1);
	f.duplication = UVMP_DUPLICATION_ENABLED;
	check(&pcie, &f, 2, 1, true, 0);
	f.accesses = W;
	check(&pcie, &f, 3, 1, false, 0);
	f = read_by_1(1);
	f.accessed_by = 2;
	f.operation = UVMP_OPERATION_ACCESS_COUNTER;
	check(&pcie, &f, 12, 1, false, 0);
	/* [driver: counter-service], example 4 */
	f = read_by_1(1);
	f.has_preferred = true;
	f.preferred = 0;
	f.operation = UVMP_OPERATION_ACCESS_COUNTER;
	check(&pcie, &f, 10, 0, false, 0);
}

static void test_rows_before_the_holder(void **unused)
{
	struct uvmp_residency_facts f = read_by_1(2);

	(void)unused;
	f.is_system_forced = true;
	f.duplication = UVMP_DUPLICATION_ENABLED;
	check(&pcie, &f, 1, 0, false, 1);
	f = read_by_1(2);
	f.is_hmm_system = f.is_hmm_fixed = true; /* mean nothing without HMM */
	check(&pcie, &f, 12, 1, false, 1);
	f.is_hmm = true;
	check(&pcie, &f, 1, 0, false, 1);
	f.is_hmm_system = false;
	check(&pcie, &f, 1, 0, false, 1);
	f.is_hmm_fixed = false;
	check(&pcie, &f, 12, 1, false, 1);
	f.requester = 0;
	check(&pcie, &f, 5, 0, false, 1);
	f.has_preferred = true;
	f.preferred = 0;
	check(&pcie, &f, 4, 0, false, 1);
	f = read_by_1(1);
	f.has_pin = true;
	f.pin = 2;
	check(&pcie, &f, 6, 2, false, 0);
	f.has_preferred = true;
	f.preferred = 1;
	check(&pcie, &f, 4, 1, false, 0);
}

/* [driver: read-duplication]. */
static void test_duplicates(void **unused)
{
	struct uvmp_residency_facts f = read_by_1(1);

	(void)unused;
	f.is_duplicated = true;
	check(&pcie, &f, 2, 1, true, 0);
	f.accesses = R | W;
	check(&pcie, &f, 3, 1, false, 0);
	f.accesses = 1u << UVMP_ACCESS_PREFETCH;
	check(&pcie, &f, 2, 1, true, 0);
	f.has_pin = true;
	f.pin = 0;
	check(&pcie, &f, 6, 0, false, 0);
	f.duplication = UVMP_DUPLICATION_ENABLED;
	check(&pcie, &f, 2, 1, true, 0);
	f.duplication = UVMP_DUPLICATION_DISABLED;
	check(&pcie, &f, 6, 0, false, 0);
	assert_false(uvmp_residency_can_duplicate(UVMP_DUPLICATION_UNSET, false, false));
	assert_false(uvmp_residency_can_duplicate(UVMP_DUPLICATION_UNSET, false, true));
	assert_false(uvmp_residency_can_duplicate((enum uvmp_read_duplication)3, true, false));
}

static void test_rows_by_the_holder(void **unused)
{
	struct uvmp_residency_facts f = read_by_1(0);

	(void)unused;
	f.has_preferred = true;
	f.preferred = 2;
	check(&pcie, &f, 7, 1, false, NONE); /* cannot map it there */
	check(&nvlink, &f, 7, 2, false, NONE);

	f = read_by_1(4);
	f.accessed_by = 2;
	check(&pcie, &f, 12, 1, false, 2);
	check(&nvlink, &f, 8, 2, false, 2);
	f.accessed_by = 5;
	check(&nvlink, &f, 12, 1, false, 2);
	f = read_by_1(2);
	f.accessed_by = 2;
	check(&pcie, &f, 8, 1, false, 1); /* nearest is the requester */

	f = read_by_1(1);
	f.has_preferred = true;
	f.preferred = 2;
	check(&nvlink, &f, 10, 2, false, 0);
	f.resident = 2;
	check(&nvlink, &f, 12, 1, false, 1); /* no reason to leave the requester */

	f = read_by_1(4);
	f.requester = 0;
	f.is_foreign = true;
	check(&coherent, &f, 11, 2, false, 2);
	check(&pcie, &f, 12, 0, false, 2);
	f.requester = 1;
	check(&coherent, &f, 12, 1, false, 2);
	f.requester = 0;
	f.is_foreign = false;
	check(&coherent, &f, 12, 0, false, 2);
}

static void test_remote_on_atomics(void **unused)
{
	struct uvmp_residency_facts f = read_by_1(4);

	(void)unused;
	f.accesses = A | S;
	check(&nvlink, &f, 12, 1, false, 2);
	f.maps_on_atomics = true;
	check(&nvlink, &f, 9, 2, false, 2);
	check(&pcie, &f, 12, 1, false, 2);
	f.accesses = W | S;
	check(&nvlink, &f, 12, 1, false, 2);
	f.resident = 2;
	f.accesses = A;
	check(&nvlink, &f, 9, 1, false, 1); /* nearest is the requester: the row matches, nothing moves */
	f.accesses = S;
	f.resident = 4;
	f.has_preferred = true;
	f.preferred = 0;
	check(&nvlink, &f, 9, 2, false, 2); /* before the preferred location */
	f.has_preferred = false;
	f.preferred = NONE;
	f.resident = 1;
	check(&coherent, &f, 12, 1, false, 0); /* the CPU's memory does not count */
	f.resident = 4;
	f.requester = 0;
	check(&coherent, &f, 12, 0, false, 2); /* nor does the CPU as requester */
}

/* As many processors as there can be: sets use all 64 bits. */
static void test_64_processors(void **unused)
{
	struct uvmp_processors all;
	struct uvmp_residency_facts f = read_by_1(~(uint64_t)0);
	struct uvmp_map_facts m;
	struct uvmp_map result;

	(void)unused;
	memset(&all, 0, sizeof(all));
	all.count = 64;
	for (uint32_t p = 0; p < 64; p++) {
		all.can_access[p] = (uint64_t)1 << p | 1;
		all.native_atomics[p] = (uint64_t)1 << p;
	}
	check(&all, &f, 12, 1, false, 1);
	f.resident = (uint64_t)1 << 63 | 1;
	f.requester = 63;
	check(&all, &f, 12, 63, false, 63);
	f.resident = (uint64_t)1 << 63;
	f.requester = 2;
	f.accessed_by = ~(uint64_t)0;
	check(&all, &f, 12, 2, false, 63);
	memset(&m, 0, sizeof(m));
	m.requester = 63;
	m.access = UVMP_ACCESS_ATOMIC_STRONG;
	m.right = UVMP_RIGHT_READ_WRITE_ATOMIC;
	m.has_preferred = false;
	m.preferred = NONE;
	m.read = m.write = ~(uint64_t)0;
	m.is_integrated = true;
	assert_int_equal(uvmp_residency_map(&all, &m, &result), UVMP_OK);
	assert_true(result.victims == ~(uint64_t)0 >> 1 && result.left == UVMP_RIGHT_READ);
	assert_true(result.others == ~(uint64_t)0 >> 1 && result.others_right == UVMP_RIGHT_READ);
}

/* Below the table of [driver: residency-choice]: a destination without memory. */
static void test_no_memory(void **unused)
{
	struct uvmp_processors processors = pcie;
	struct uvmp_residency_facts f = read_by_1(1);

	(void)unused;
	processors.no_memory = 2;
	check(&processors, &f, 12, 0, false, 0);
	f.duplication = UVMP_DUPLICATION_ENABLED;
	check(&processors, &f, 2, 0, false, 0);
}

static void test_node(void **unused)
{
	struct uvmp_residency_facts f = read_by_1(0);

	(void)unused;
	assert_int_equal(uvmp_residency_node(&f, 0, 5, 3), 3);
	assert_int_equal(uvmp_residency_node(&f, 1, 5, 3), 5); /* staging */
	f.resident = 1;
	assert_int_equal(uvmp_residency_node(&f, 0, 5, 3), UVMP_NODE_NONE);
	f.has_preferred = true;
	f.preferred = 0;
	assert_int_equal(uvmp_residency_node(&f, 0, 5, 3), 5);
	f.is_hmm = true;
	assert_int_equal(uvmp_residency_node(&f, 0, 5, 3), UVMP_NODE_NONE);
	assert_int_equal(uvmp_residency_node(NULL, 0, 5, 3), UVMP_NODE_NONE);
}

static void refuse(const struct uvmp_residency_facts *facts)
{
	struct uvmp_residency_place place, before;

	memset(&before, 0x5a, sizeof(before));
	memcpy(&place, &before, sizeof(place));
	assert_int_equal(uvmp_residency_select(&pcie, facts, &place), UVMP_ERR_RANGE);
	assert_memory_equal(&place, &before, sizeof(place));
}

/* Facts that are not given are 0: no preferred location and no pin, neither the CPU nor another. */
static void test_zeroed_facts(void **unused)
{
	struct uvmp_residency_facts f = {.requester = 1, .accesses = R, .resident = 4};
	struct uvmp_map_facts m = {.requester = 1,
	                           .to = 1,
	                           .access = UVMP_ACCESS_READ,
	                           .right = UVMP_RIGHT_READ_WRITE,
	                           .accessed_by = 1};
	struct uvmp_processors linked = pcie;
	struct uvmp_map map;

	(void)unused;
	check(&pcie, &f, 12, 1, false, 2);
	f.requester = 0;
	check(&pcie, &f, 12, 0, false, 2);
	assert_int_equal(uvmp_residency_node(&f, UVMP_CPU, 3, 4), 4);
	f.has_preferred = true; /* the CPU */
	assert_int_equal(uvmp_residency_node(&f, UVMP_CPU, 3, 4), 3);
	f.preferred = 1;
	assert_int_equal(uvmp_residency_node(&f, UVMP_CPU, 3, 4), 4);
	linked.can_access[0] = 3;
	assert_int_equal(uvmp_residency_map(&linked, &m, &map), UVMP_OK);
	assert_int_equal(map.others | map.others_atomic, 1);
	m.has_preferred = true; /* the CPU, which is then only mapped to its own memory */
	assert_int_equal(uvmp_residency_map(&linked, &m, &map), UVMP_OK);
	assert_int_equal(map.others | map.others_atomic, 0);
	m.preferred = NONE;
	assert_int_equal(uvmp_residency_map(&linked, &m, &map), UVMP_ERR_RANGE);
	m = (struct uvmp_map_facts){.requester = 1, .to = 1, .right = UVMP_RIGHT_READ, .preferred = 1};
	assert_int_equal(uvmp_residency_map(&linked, &m, &map), UVMP_ERR_RANGE);
	m.preferred = NONE;
	assert_int_equal(uvmp_residency_map(&linked, &m, &map), UVMP_OK);
}

static void test_select_bad_input(void **unused)
{
	const struct uvmp_residency_facts good = read_by_1(1);
	struct uvmp_residency_facts f;
	struct uvmp_residency_place place;
	struct uvmp_processors no_processors = pcie;

	(void)unused;
	no_processors.count = 0;
	assert_int_equal(uvmp_residency_select(NULL, &good, &place), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_residency_select(&no_processors, &good, &place), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_residency_select(&pcie, NULL, &place), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_residency_select(&pcie, &good, NULL), UVMP_ERR_ARGUMENT);
	f = good;
	f.requester = 3;
	refuse(&f);
	f = good;
	f.has_preferred = true;
	f.preferred = 3;
	refuse(&f);
	f = good;
	f.has_preferred = true;
	f.preferred = UINT32_MAX;
	refuse(&f);
	f = good;
	f.has_preferred = true;
	f.preferred = NONE;
	refuse(&f);
	f = good;
	f.preferred = 1; /* and the flag was forgotten */
	refuse(&f);
	f = good;
	f.has_pin = true;
	f.pin = 63;
	refuse(&f);
	f = good;
	f.has_pin = true;
	f.pin = NONE;
	refuse(&f);
	f = good;
	f.pin = 2;
	refuse(&f);
	f = good;
	f.resident = 8;
	refuse(&f);
	f = good;
	f.accessed_by = (uint64_t)1 << 63;
	refuse(&f);
	f = good;
	f.accesses = 0;
	refuse(&f);
	f = good;
	f.accesses = 32;
	refuse(&f);
	f = good;
	f.operation = 3;
	refuse(&f);
	f = good;
	f.duplication = 3;
	refuse(&f);
}

/* -- rights -- */

/* GPU 1 reads a page that is on the CPU and stays there. */
static struct uvmp_map_facts map_for_1(enum uvmp_access access)
{
	struct uvmp_map_facts facts;

	memset(&facts, 0, sizeof(facts));
	facts.requester = 1;
	facts.access = (uint8_t)access;
	facts.right = UVMP_RIGHT_READ_WRITE_ATOMIC;
	facts.has_preferred = false;
	facts.preferred = NONE;
	return facts;
}

static struct uvmp_map map(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts)
{
	struct uvmp_map result;

	assert_int_equal(uvmp_residency_map(processors, facts, &result), UVMP_OK);
	assert_int_equal(result.leaves_discarded, result.right >= UVMP_RIGHT_READ_WRITE);
	return result;
}

/* The requester's right [driver: block-service]. */
static void test_right(void **unused)
{
	struct uvmp_map_facts f = map_for_1(UVMP_ACCESS_READ);

	(void)unused;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE);
	assert_int_equal(map(&coherent, &f).right, UVMP_RIGHT_READ_WRITE_ATOMIC);
	f.right = UVMP_RIGHT_READ_WRITE;
	assert_int_equal(map(&coherent, &f).right, UVMP_RIGHT_READ_WRITE);
	f.right = UVMP_RIGHT_READ;
	assert_int_equal(map(&coherent, &f).right, UVMP_RIGHT_READ);

	/* GPU 2 would have to give up its atomics; the CPU's are in its own memory */
	f = map_for_1(UVMP_ACCESS_PREFETCH);
	f.read = f.write = f.atomic = 4;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ);
	f.read = f.write = f.atomic = 1;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE);

	/* what may be read-duplicated stays read-only */
	f = map_for_1(UVMP_ACCESS_READ);
	f.is_duplicated = true;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ);
	f.duplication = UVMP_DUPLICATION_DISABLED;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE);
	f.duplication = UVMP_DUPLICATION_ENABLED;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ);
	f.is_hmm = true;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE);

	/* a read leaves the page discarded, a write does not */
	f = map_for_1(UVMP_ACCESS_READ);
	f.is_discarded = true;
	assert_int_equal(map(&coherent, &f).right, UVMP_RIGHT_READ);
	f.access = UVMP_ACCESS_WRITE;
	assert_int_equal(map(&coherent, &f).right, UVMP_RIGHT_READ_WRITE_ATOMIC);
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE);
	f.access = UVMP_ACCESS_ATOMIC_WEAK;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE);
	f.access = UVMP_ACCESS_ATOMIC_STRONG;
	assert_int_equal(map(&pcie, &f).right, UVMP_RIGHT_READ_WRITE_ATOMIC);
}

static void check_victims(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts,
                          uint64_t victims, enum uvmp_right left)
{
	struct uvmp_map result = map(processors, facts);

	assert_int_equal(result.victims, victims);
	assert_int_equal(result.left, left);
}

/* Processors that lose rights [driver: block-service]. */
static void test_victims(void **unused)
{
	struct uvmp_map_facts f = map_for_1(UVMP_ACCESS_ATOMIC_STRONG);

	(void)unused;
	f.read = 7;
	f.write = 5;
	f.atomic = 1;
	check_victims(&pcie, &f, 5, UVMP_RIGHT_READ);     /* GPU atomics: no other processor writes */
	check_victims(&coherent, &f, 0, UVMP_RIGHT_NONE); /* ordered by hardware */
	f.has_migrated = true;
	check_victims(&pcie, &f, 0, UVMP_RIGHT_NONE);
	f.has_migrated = false;
	f.access = UVMP_ACCESS_WRITE;
	f.to = 2;
	f.atomic = 5;
	check_victims(&pcie, &f, 1, UVMP_RIGHT_READ_WRITE); /* RW: others lose atomics, GPU 2 on its own not */
	f.access = UVMP_ACCESS_ATOMIC_STRONG;
	f.requester = 0;
	f.to = 1;
	check_victims(&pcie, &f, 4, UVMP_RIGHT_READ_WRITE); /* the CPU stops atomics only */
	f.requester = 1;
	f.to = 2;
	f.atomic = 1;
	check_victims(&nvlink, &f, 1, UVMP_RIGHT_READ); /* GPU 2 shares the link's atomics, the CPU does not */
	f.access = UVMP_ACCESS_WRITE;
	f.right = UVMP_RIGHT_READ_WRITE;
	f.atomic = 5;
	check_victims(&nvlink, &f, 1, UVMP_RIGHT_READ_WRITE);
	f.right = UVMP_RIGHT_READ_WRITE_ATOMIC;
	f.requester = 0;
	f.access = UVMP_ACCESS_READ;
	f.atomic = 4;
	f.is_discarded = true;
	check_victims(&pcie, &f, 0, UVMP_RIGHT_NONE);
	f.atomic = 0;
	f.access = UVMP_ACCESS_ATOMIC_STRONG;
	check_victims(&pcie, &f, 0, UVMP_RIGHT_NONE);
}

static void check_others(const struct uvmp_processors *processors, const struct uvmp_map_facts *facts,
                         uint64_t atomic, uint64_t others, enum uvmp_right right)
{
	struct uvmp_map result = map(processors, facts);

	assert_int_equal(result.others_atomic, atomic);
	assert_int_equal(result.others, others);
	assert_int_equal(result.others_right, right);
}

/* [driver: other-mappings]: who. */
static void test_others(void **unused)
{
	struct uvmp_processors processors = pcie;
	struct uvmp_map_facts f = map_for_1(UVMP_ACCESS_WRITE);

	(void)unused;
	check_others(&pcie, &f, 0, 0, UVMP_RIGHT_NONE);
	f.accessed_by = 6;
	check_others(&pcie, &f, 0, 4, UVMP_RIGHT_READ_WRITE);
	f.to = 1; /* cannot be mapped by others */
	check_others(&pcie, &f, 0, 0, UVMP_RIGHT_NONE);
	f.to = 0;
	f.accessed_by = 0;
	f.thrashing = 7;
	check_others(&pcie, &f, 0, 5, UVMP_RIGHT_READ_WRITE);
	f.is_cpu_barred = true;
	check_others(&pcie, &f, 0, 4, UVMP_RIGHT_READ_WRITE);
	f.thrashing = 0;
	f.is_integrated = true;
	check_others(&pcie, &f, 0, 4, UVMP_RIGHT_READ_WRITE);
	f.has_preferred = true;
	f.preferred = 0; /* the destination itself: no obstacle */
	check_others(&pcie, &f, 0, 4, UVMP_RIGHT_READ_WRITE);
	f.has_preferred = true;
	f.preferred = 2; /* maps only its own memory */
	check_others(&pcie, &f, 0, 0, UVMP_RIGHT_NONE);
	processors.no_memory = 4;
	check_others(&processors, &f, 0, 4, UVMP_RIGHT_READ_WRITE);
	f.is_duplicated = true;
	check_others(&processors, &f, 0, 0, UVMP_RIGHT_NONE);
	f.duplication = UVMP_DUPLICATION_DISABLED;
	check_others(&processors, &f, 0, 4, UVMP_RIGHT_READ_WRITE);
	f.duplication = UVMP_DUPLICATION_ENABLED;
	check_others(&processors, &f, 0, 0, UVMP_RIGHT_NONE);
}

/* [driver: other-mappings]: with which right. */
static void test_right_of_others(void **unused)
{
	struct uvmp_processors mixed = coherent;
	struct uvmp_map_facts f = map_for_1(UVMP_ACCESS_ATOMIC_STRONG);

	(void)unused;
	f.accessed_by = 5;
	mixed.native_atomics[0] = 3;
	check_others(&coherent, &f, 5, 0, UVMP_RIGHT_NONE);
	check_others(&mixed, &f, 1, 4, UVMP_RIGHT_READ_WRITE);
	check_others(&pcie, &f, 0, 5, UVMP_RIGHT_READ);
	f.requester = 0;
	f.to = 2;
	f.accessed_by = 6;
	mixed.native_atomics[2] = 6;
	check_others(&mixed, &f, 0, 6, UVMP_RIGHT_READ_WRITE);
	f.access = UVMP_ACCESS_READ;
	f.is_discarded = true;
	check_others(&mixed, &f, 0, 6, UVMP_RIGHT_READ);
}

static void refuse_map(const struct uvmp_map_facts *facts, enum uvmp_status status)
{
	struct uvmp_map result, before;

	memset(&before, 0x5a, sizeof(before));
	memcpy(&result, &before, sizeof(result));
	assert_int_equal(uvmp_residency_map(&pcie, facts, &result), status);
	assert_memory_equal(&result, &before, sizeof(result));
}

static void test_map_bad_input(void **unused)
{
	const struct uvmp_map_facts good = map_for_1(UVMP_ACCESS_WRITE);
	struct uvmp_map_facts f;
	struct uvmp_map result;

	(void)unused;
	assert_int_equal(uvmp_residency_map(NULL, &good, &result), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_residency_map(&pcie, NULL, &result), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_residency_map(&pcie, &good, NULL), UVMP_ERR_ARGUMENT);
	f = good;
	f.requester = 3;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.to = 3;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.to = NONE;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.has_preferred = true;
	f.preferred = 3;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.accessed_by = 8;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.thrashing = 8;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.read = 8;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.write = 1;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.read = f.atomic = 1;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.access = UVMP_ACCESS_NONE;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.right = 4;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.duplication = 3;
	refuse_map(&f, UVMP_ERR_RANGE);
	f = good;
	f.right = UVMP_RIGHT_READ;
	refuse_map(&f, UVMP_ERR_CONFLICT);
}

/* [driver: pinned-stops-mapping]. */
static void test_levels(void **unused)
{
	const uvmp_mask pinned = {{6}};
	uvmp_mask level[3] = {{{0}}, {{7}}, {{8}}};

	(void)unused;
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, true), UVMP_RIGHT_READ_WRITE_ATOMIC);
	level[1].word[0] = 6;
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, true), UVMP_RIGHT_READ_WRITE);
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, false), UVMP_RIGHT_READ_WRITE_ATOMIC);
	assert_int_equal(uvmp_residency_map_levels(level, NULL, true), UVMP_RIGHT_READ_WRITE_ATOMIC);
	assert_int_equal(uvmp_residency_map_levels(NULL, &pinned, true), UVMP_RIGHT_READ_WRITE_ATOMIC);
	level[0].word[0] = 1; /* a lower level with a page that is not pinned does not end it */
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, true), UVMP_RIGHT_READ_WRITE);
	level[1].word[0] = 0; /* all of the highest pinned: there is nothing behind it */
	level[2].word[0] = 6;
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, true), UVMP_RIGHT_READ_WRITE_ATOMIC);
	level[0].word[0] = 4;
	assert_int_equal(uvmp_residency_map_levels(level, &pinned, true), UVMP_RIGHT_READ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_examples),
	        cmocka_unit_test(test_rows_before_the_holder),
	        cmocka_unit_test(test_duplicates),
	        cmocka_unit_test(test_rows_by_the_holder),
	        cmocka_unit_test(test_remote_on_atomics),
	        cmocka_unit_test(test_64_processors),
	        cmocka_unit_test(test_no_memory),
	        cmocka_unit_test(test_node),
	        cmocka_unit_test(test_select_bad_input),
	        cmocka_unit_test(test_zeroed_facts),
	        cmocka_unit_test(test_right),
	        cmocka_unit_test(test_victims),
	        cmocka_unit_test(test_others),
	        cmocka_unit_test(test_right_of_others),
	        cmocka_unit_test(test_map_bad_input),
	        cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
