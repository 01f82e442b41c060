/* Structures that carry their size (base.h): hosts whose structures are shorter, equal and longer than the library's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/sized_internal.h"
#include "uvmpolicy/uvmpolicy.h"

#define ROOT  ((uint64_t)2 << 20)
#define BASE  ((uvmp_addr)1 << 40)
#define SPACE 1u
#define GPUS  2u
#define MORE  24u /* bytes that a later version may add */
#define FILL  0xa5

/* -- the copies -- */

struct own {
	uint32_t size, a;
	uint64_t b;
};

struct longer {
	struct own own;
	uint64_t more;
};

static void test_read(void **state)
{
	struct longer from = {{sizeof(struct own), 7, 9}, 1};
	struct own to;

	(void)state;
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_OK);
	assert_true(to.size == sizeof(to) && to.a == 7 && to.b == 9);
	from.own.size = 8; /* b lies behind the size */
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_OK);
	assert_true(to.size == sizeof(to) && to.a == 7 && to.b == 0);
	from.own.size = 7;
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_ERR_ARGUMENT);
	from.own.size = UVMP_SIZE_MAX + 1u;
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_ERR_ARGUMENT);
	from.own.size = sizeof(from); /* `more` is unknown to the library */
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_ERR_RANGE);
	from.more = (uint64_t)1 << 56;
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_ERR_RANGE);
	from.more = 0;
	assert_int_equal(uvmpi_sized_read(&to, sizeof(to), &from, 8), UVMP_OK);
	assert_true(to.size == sizeof(to) && to.a == 7 && to.b == 9);
}

static void test_write(void **state)
{
	struct own from = {0, 7, 9};
	struct longer to;

	(void)state;
	memset(&to, FILL, sizeof(to));
	assert_int_equal(uvmpi_sized_write(&to, 3, &from, sizeof(from), 4), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmpi_sized_write(&to, UVMP_SIZE_MAX + 1u, &from, sizeof(from), 4), UVMP_ERR_ARGUMENT);
	assert_int_equal(to.own.size, 0xa5a5a5a5);
	assert_int_equal(uvmpi_sized_write(&to, 8, &from, sizeof(from), 4), UVMP_OK);
	assert_true(to.own.size == 8 && to.own.a == 7 && to.own.b == 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(uvmpi_sized_write(&to, sizeof(from), &from, sizeof(from), 4), UVMP_OK);
	assert_true(to.own.size == sizeof(from) && to.own.b == 9 && to.more == 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(uvmpi_sized_write(&to, sizeof(to), &from, sizeof(from), 4), UVMP_OK);
	assert_true(to.own.size == sizeof(to) && to.own.b == 9 && to.more == 0);
}

/* -- parameters of the engine -- */

/* What a host of a later version has. */
struct later_gpu {
	struct uvmp_service_gpu gpu;
	uint64_t more[MORE / 8u];
};

struct later_params {
	struct uvmp_service_params params;
	uint64_t more[MORE / 8u];
};

static struct uvmp_policy policy;
static struct uvmp_processors processors;
static struct later_gpu gpu[GPUS];
static struct later_params host;
static uint8_t memory[8u << 20] __attribute__((aligned(16)));

static int set_up(void **state)
{
	(void)state;
	uvmp_policy_init(&policy);
	processors = (struct uvmp_processors){.count = 1u + GPUS};
	for (uint32_t p = 0; p <= GPUS; p++)
		processors.can_access[p] = processors.native_atomics[p] = (uint64_t)1 << p;
	memset(gpu, 0, sizeof(gpu));
	for (uint32_t i = 0; i < GPUS; i++)
		gpu[i].gpu = (struct uvmp_service_gpu){
			.size = sizeof(gpu[i]), .memory_bytes = (2u + i) * ROOT, .fault_entries = 16, .utlbs = 1};
	memset(&host, 0, sizeof(host));
	host.params = (struct uvmp_service_params){.size = sizeof(host),
						   .policy = &policy,
						   .processors = &processors,
						   .gpu = &gpu[0].gpu,
						   .page_bytes = 4096,
						   .blocks = 16,
						   .spaces = 1,
						   .ranges = 4,
						   .instances = 4,
						   .requests = 4};
	return 0;
}

/* The refused field; "" if the parameters are accepted. */
static const char *refused(enum uvmp_status expected)
{
	static struct uvmp_service_error error;
	struct uvmp_service *service;

	error.field[0] = '\0';
	assert_int_equal(uvmp_service_params_check(&host.params, &error), expected);
	assert_int_equal(uvmp_service_init(&host.params, memory, sizeof(memory), &service), expected);
	assert_int_equal(uvmp_service_size(&host.params, 1) == 0, expected != UVMP_OK);
	return error.field;
}

static void test_params_longer(void **state)
{
	(void)state;
	assert_string_equal(refused(UVMP_OK), "");
	host.more[MORE / 8u - 1u] = 1;
	assert_string_equal(refused(UVMP_ERR_RANGE), "size");
	host.more[MORE / 8u - 1u] = 0;
	gpu[1].more[0] = 1;
	assert_string_equal(refused(UVMP_ERR_RANGE), "gpu[1].size");
}

static void test_params_size(void **state)
{
	const uint32_t needed = SIZE_THROUGH(struct uvmp_service_params, requests);

	(void)state;
	host.params.size = 0;
	assert_string_equal(refused(UVMP_ERR_ARGUMENT), "size");
	host.params.size = needed - 1u;
	assert_string_equal(refused(UVMP_ERR_ARGUMENT), "size");
	host.params.size = UVMP_SIZE_MAX + 1u;
	assert_string_equal(refused(UVMP_ERR_ARGUMENT), "size");
	host.params.size = needed;
	assert_string_equal(refused(UVMP_OK), "");
	policy.size = 4;
	assert_string_equal(refused(UVMP_ERR_ARGUMENT), "policy->size");
}

/* Fields behind the size count as 0: with memory_is_zero the engine would not clear its tables. */
static void test_params_shorter(void **state)
{
	struct uvmp_service *service;

	(void)state;
	host.params.memory_is_zero = true;
	host.params.size = SIZE_THROUGH(struct uvmp_service_params, requests);
	memset(memory, FILL, sizeof(memory));
	assert_int_equal(uvmp_service_init(&host.params, memory, sizeof(memory), &service), UVMP_OK);
	assert_true(uvmp_service_check(service));
	assert_int_equal(uvmp_service_add_range(service, SPACE, BASE, ROOT, UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU),
			 UVMP_OK);
	assert_true(uvmp_service_check(service));
}

/* The size of the first GPU is the distance between elements. */
static void test_gpus(void **state)
{
	static struct uvmp_service_gpu same[GPUS];
	size_t size = uvmp_service_size(&host.params, 0);

	(void)state;
	for (uint32_t i = 0; i < GPUS; i++) {
		same[i] = gpu[i].gpu;
		same[i].size = sizeof(same[i]);
	}
	host.params.gpu = same;
	assert_int_equal(uvmp_service_size(&host.params, 0), size);
	same[1].utlbs = 4097;
	assert_string_equal(refused(UVMP_ERR_RANGE), "gpu[1].utlbs");
	same[1].utlbs = 4096;
	assert_true(uvmp_service_size(&host.params, 0) > size);
	same[1].size -= 8u;
	assert_string_equal(refused(UVMP_ERR_ARGUMENT), "gpu[1].size");
	same[0].size = SIZE_THROUGH(struct uvmp_service_gpu, utlbs) - 1u;
	assert_string_equal(refused(UVMP_ERR_ARGUMENT), "gpu[0].size");
}

/* A host that knows no `notes` and `sms`. */
static void test_gpus_shorter(void **state)
{
	const uint32_t size = SIZE_THROUGH(struct uvmp_service_gpu, utlbs);
	static uint64_t bytes[16];
	struct uvmp_service *service;
	struct uvmp_note note = {.aperture = UVMP_APERTURE_VID};

	(void)state;
	for (uint32_t i = 0; i < GPUS; i++) {
		gpu[i].gpu.size = size;
		memcpy((uint8_t *)bytes + i * size, &gpu[i].gpu, size);
	}
	memset((uint8_t *)bytes + GPUS * size, FILL, 8);
	host.params.gpu = (const struct uvmp_service_gpu *)(const void *)bytes;
	assert_int_equal(uvmp_service_init(&host.params, memory, sizeof(memory), &service), UVMP_OK);
	assert_int_equal(uvmp_service_note(service, GPUS, &note), UVMP_ERR_RANGE); /* no such buffer */
}

/* -- policy -- */

struct later_policy {
	struct uvmp_policy policy;
	uint64_t more[MORE / 8u];
};

static void test_policy(void **state)
{
	struct later_policy later;
	struct uvmp_policy_error error;
	struct uvmp_needs needs = {.size = sizeof(needs)};
	char text[UVMP_POLICY_TEXT_MAX], again[UVMP_POLICY_TEXT_MAX];

	(void)state;
	memset(&later, FILL, sizeof(later));
	assert_int_equal(uvmp_policy_init_size(NULL, sizeof(policy)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_policy_init_size(&later.policy, 8), UVMP_ERR_ARGUMENT);
	assert_int_equal(later.policy.size, 0xa5a5a5a5);
	assert_int_equal(uvmp_policy_init_size(&later.policy, sizeof(later)), UVMP_OK);
	assert_int_equal(later.policy.size, sizeof(later));
	assert_true(later.more[0] == 0 && later.more[MORE / 8u - 1u] == 0);
	assert_true(uvmp_policy_is_valid(&later.policy));
	assert_int_equal(uvmp_policy_parse_size("evict=lru4k", 11, &later.policy, 8, &error), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_policy_parse_size("evict=lru4k", 11, &later.policy, sizeof(later), &error), UVMP_OK);
	assert_int_equal(uvmp_policy_parse("evict=lru4k", 11, &policy, &error), UVMP_OK);
	assert_int_equal(uvmp_policy_print(&later.policy, text, sizeof(text)), UVMP_OK);
	assert_int_equal(uvmp_policy_print(&policy, again, sizeof(again)), UVMP_OK);
	assert_string_equal(text, again);
	assert_int_equal(uvmp_policy_needs(&later.policy, &needs), UVMP_OK);
	assert_true(needs.touches);
	later.more[0] = 1; /* a key that the library does not know */
	assert_false(uvmp_policy_is_valid(&later.policy));
	assert_int_equal(uvmp_policy_print(&later.policy, text, sizeof(text)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_policy_needs(&later.policy, &needs), UVMP_ERR_ARGUMENT);
	host.params.policy = &later.policy;
	assert_string_equal(refused(UVMP_ERR_RANGE), "policy->size");
}

/* -- answers -- */

/* Runs `ask` with structures of several sizes at `answer`, which holds more than sizeof of the structure. */
static void check_answers(enum uvmp_status (*ask)(void *answer), size_t known)
{
	uint8_t answer[512], whole[512];
	const uint32_t sizes[] = {4, (uint32_t)known - 1u, (uint32_t)known, (uint32_t)known + MORE};
	uint32_t size;

	assert_true(known + MORE < sizeof(answer));
	memset(whole, 0, sizeof(whole));
	size = (uint32_t)known;
	memcpy(whole, &size, sizeof(size));
	assert_int_equal(ask(whole), UVMP_OK);
	for (uint32_t i = 0; i < 4; i++) {
		memset(answer, FILL, sizeof(answer));
		memcpy(answer, &sizes[i], sizeof(sizes[i]));
		assert_int_equal(ask(answer), UVMP_OK);
		memcpy(&size, answer, sizeof(size));
		assert_int_equal(size, sizes[i]);
		for (uint32_t at = sizeof(size); at < sizeof(answer); at++)
			assert_int_equal(answer[at], at < sizes[i] ? whole[at] : FILL);
	}
	for (uint32_t wrong = 0; wrong < 2; wrong++) {
		size = wrong != 0 ? UVMP_SIZE_MAX + 1u : 3u;
		memset(answer, FILL, sizeof(answer));
		memcpy(answer, &size, sizeof(size));
		assert_int_equal(ask(answer), UVMP_ERR_ARGUMENT);
		assert_int_equal(answer[sizeof(size)], FILL);
	}
}

static struct uvmp_service *engine;

static enum uvmp_status ask_page(void *answer)
{
	return uvmp_service_page(engine, SPACE, BASE, answer);
}

static enum uvmp_status ask_counts(void *answer)
{
	return uvmp_service_count(engine, 1, answer);
}

static enum uvmp_status ask_memory(void *answer)
{
	return uvmp_service_memory_used(engine, answer);
}

static enum uvmp_status ask_needs(void *answer)
{
	return uvmp_policy_needs(&policy, answer);
}

static enum uvmp_status ask_key(void *answer)
{
	const struct uvmp_policy_key *key = uvmp_policy_key_at(1, answer);

	assert_true(key == NULL || key == answer);
	return key != NULL ? UVMP_OK : UVMP_ERR_ARGUMENT;
}

static void test_answers(void **state)
{
	(void)state;
	assert_int_equal(uvmp_service_init(&host.params, memory, sizeof(memory), &engine), UVMP_OK);
	assert_int_equal(uvmp_service_add_range(engine, SPACE, BASE, ROOT, UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU),
			 UVMP_OK);
	check_answers(ask_page, sizeof(struct uvmp_page_state));
	check_answers(ask_counts, sizeof(struct uvmp_service_counts));
	check_answers(ask_memory, sizeof(struct uvmp_service_memory));
	check_answers(ask_needs, sizeof(struct uvmp_needs));
	check_answers(ask_key, sizeof(struct uvmp_policy_key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_write),
		cmocka_unit_test_setup(test_params_longer, set_up),
		cmocka_unit_test_setup(test_params_size, set_up),
		cmocka_unit_test_setup(test_params_shorter, set_up),
		cmocka_unit_test_setup(test_gpus, set_up),
		cmocka_unit_test_setup(test_gpus_shorter, set_up),
		cmocka_unit_test_setup(test_policy, set_up),
		cmocka_unit_test_setup(test_answers, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
