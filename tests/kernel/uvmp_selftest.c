/* The same code in two worlds: the engine, driven by a fixed stream of events, in the kernel and in a
 * program. Each policy gives one line with the hash of its decision log, to the kernel log or to stdout; the
 * lines must be equal.
 *
 * Two GPUs, two address spaces, eight ranges four times as large as the GPUs' memory together; a
 * multiplicative generator says what happens next. A few actions fail, so that what then happens is among
 * what is compared. */
#ifdef __KERNEL__
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#define say(...)        pr_info("selftest: " __VA_ARGS__)
#define allocate(bytes) kvzalloc(bytes, GFP_KERNEL)
#define release(memory) kvfree(memory)
#define breathe()       cond_resched()
#else
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define say(...)        printf("selftest: " __VA_ARGS__)
#define allocate(bytes) calloc(1, bytes)
#define release(memory) free(memory)
#define breathe()
#endif

#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>

#define GPUS     2u
#define SPACES   2u
#define RANGES   4u /* of each space */
#define ROOT     2097152ull
#define MEMORY   (4u * ROOT)
#define RANGE    (4u * ROOT)
#define EVENTS   10000u
#define RESIDENT 64u

static const char *const policies[] = {
        "",
        "preset=uvmsmart",
        "prefetch=sl evict=lru4k replay=block",
        "prefetch=pattern adapt=early evict=lfu2m remote=always",
        "counters=on thrash=on evict=lru2m plan=overlapped",
        "prefetch=none evict=random4k coalesce=0 replay=batch",
};

struct selftest {
	struct uvmp_policy policy;
	struct uvmp_policy_error error;
	struct uvmp_processors processors;
	struct uvmp_service_gpu gpu[GPUS];
	struct uvmp_service_params params;
	struct uvmp_service *service;
	struct uvmp_fault fault;
	struct uvmp_note note;
	uint64_t random, hash, actions, now_ns;
	uint64_t outstanding[UVMP_SERVICE_PENDING_MAX];
	const struct uvmp_action *action;
	char text[UVMP_ACTION_TEXT_MAX];
};

static uint32_t pick(struct selftest *test, uint32_t choices)
{
	test->random = test->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(test->random >> 33) % choices;
}

static void add_to_hash(struct selftest *test) /* FNV-1a, the NUL between lines included */
{
	const char *byte = test->text;

	do
		test->hash = (test->hash ^ (uint8_t)*byte) * 0x100000001b3ull;
	while (*byte++ != '\0');
}

static uvmp_addr base_of(uint32_t range)
{
	return 0x7f0000000000ull + range * (RANGE + ROOT);
}

/* All that the engine wants done, as groups: what is handed out together is completed together. */
static bool run(struct selftest *test)
{
	uint32_t count;

	do {
		breathe();
		for (count = 0; uvmp_service_next(test->service, test->now_ns, &test->action) == UVMP_OK;
		     count++) {
			if (uvmp_action_print(test->action, test->text, sizeof(test->text)) != UVMP_OK)
				return false;
			add_to_hash(test);
			test->outstanding[count] = test->action->id;
		}
		test->actions += count;
		for (uint32_t i = 0; i < count; i++)
			if (uvmp_service_complete(test->service, test->outstanding[i],
			                          pick(test, 500) == 0 ? UVMP_ERR_STATE : UVMP_OK) != UVMP_OK)
				return false;
	} while (count > 0);
	return true;
}

/* One event. Some are refused (a range that is there is added again): what is said then counts too. */
static enum uvmp_status happen(struct selftest *test)
{
	uint32_t space = 1 + pick(test, SPACES), range = pick(test, RANGES), gpu = 1 + pick(test, GPUS);
	uvmp_addr base = base_of(range);
	uvmp_addr address = base + pick(test, (uint32_t)(RANGE / 4096u)) * 4096ull;
	uint64_t pages = 1 + pick(test, 512), left = (base + RANGE - address) / 4096u;
	uint64_t bytes = (pages < left ? pages : left) * 4096u;
	uint32_t kind = pick(test, 100);

	if (kind < 60) {
		test->fault.address = address;
		test->fault.instance = space;
		test->fault.access = pick(test, 2) == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE;
		test->fault.utlb = pick(test, 64);
		return uvmp_service_fault(test->service, gpu, &test->fault);
	}
	if (kind < 85)
		return uvmp_service_cpu_fault(test->service, space, address,
		                              pick(test, 2) == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE,
		                              pick(test, 4), NULL);
	if (kind < 90)
		return uvmp_service_migrate(test->service, space, address, bytes, pick(test, GPUS + 1u),
		                            NULL);
	if (kind < 94)
		return uvmp_service_advise(test->service, space, address, bytes,
		                           (enum uvmp_advice)pick(test, UVMP_ADVISE_DISCARD + 1u), gpu, NULL);
	if (kind < 97) {
		test->note.address = address;
		test->note.instance = space;
		test->note.sub_granularity = 1u + pick(test, 0x7fffffff);
		return uvmp_service_note(test->service, gpu, &test->note);
	}
	if (kind < 98)
		return uvmp_service_free_range(test->service, space, base, NULL);
	return uvmp_service_add_range(test->service, space, base, RANGE, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                              pick(test, 2) == 0 ? UVMP_CPU : UVMP_PROC_NONE);
}

static bool set_up(struct selftest *test)
{
	for (uint32_t gpu = 1; gpu <= GPUS; gpu++)
		for (uint32_t space = 1; space <= SPACES; space++)
			if (uvmp_service_bind(test->service, gpu, UVMP_APERTURE_VID, space, 0, space) !=
			    UVMP_OK)
				return false;
	for (uint32_t space = 1; space <= SPACES; space++)
		for (uint32_t range = 0; range < RANGES; range++)
			if (uvmp_service_add_range(test->service, space, base_of(range), RANGE,
			                           UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE) != UVMP_OK)
				return false;
	return true;
}

static bool live(struct selftest *test)
{
	for (uint32_t event = 0; event < EVENTS; event++) {
		enum uvmp_status status = happen(test);

		test->hash = (test->hash ^ (uint64_t)(0u - (uint32_t)status)) * 0x100000001b3ull;
		test->now_ns += 1000u + pick(test, 100000);
		if (pick(test, 4) == 0 && !run(test))
			return false;
	}
	return run(test) && uvmp_service_check(test->service);
}

/* NULL, or what went wrong. */
static const char *test_policy(struct selftest *test, const char *policy)
{
	const char *wrong = NULL;
	size_t bytes;
	void *arena;

	memset(test, 0, sizeof(*test));
	test->hash = 0xcbf29ce484222325ull;
	test->now_ns = 1000000;
	if (uvmp_policy_parse(policy, strlen(policy), &test->policy, &test->error) != UVMP_OK)
		return test->error.text;
	test->processors = (struct uvmp_processors){
	        .count = GPUS + 1u, .can_access = {1u, 3u, 5u}, .native_atomics = {1u, 2u, 4u}};
	for (uint32_t gpu = 0; gpu < GPUS; gpu++)
		test->gpu[gpu] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
		                                           .memory_bytes = MEMORY,
		                                           .splits = (uint32_t)(MEMORY / ROOT),
		                                           .fault_entries = 1024,
		                                           .utlbs = 64,
		                                           .notes = 256};
	test->params = (struct uvmp_service_params){.size = sizeof(struct uvmp_service_params),
	                                            .policy = &test->policy,
	                                            .processors = &test->processors,
	                                            .gpu = test->gpu,
	                                            .page_bytes = 4096,
	                                            .blocks = 256,
	                                            .spaces = SPACES,
	                                            .ranges = 1024,
	                                            .instances = 16,
	                                            .requests = 64,
	                                            .seed = 7};
	bytes = uvmp_service_size(&test->params, RESIDENT);
	if (bytes == 0)
		return "a parameter is out of range";
	arena = allocate(bytes);
	if (!arena)
		return "no memory";
	if (uvmp_service_init(&test->params, arena, bytes, &test->service) != UVMP_OK)
		wrong = "the engine does not begin";
	else if (!set_up(test))
		wrong = "ranges and channels are refused";
	else if (!live(test))
		wrong = "the engine is not in order";
	release(arena);
	return wrong;
}

static bool test_all(void)
{
	struct selftest *test = allocate(sizeof(*test));
	bool is_good = test != NULL;

	for (size_t i = 0; test && i < sizeof(policies) / sizeof(policies[0]); i++) {
		const char *wrong = test_policy(test, policies[i]);

		if (wrong)
			say("\"%s\": FAILED: %s\n", policies[i], wrong);
		else
			say("\"%s\": %llu actions, hash %016llx\n", policies[i],
			    (unsigned long long)test->actions, (unsigned long long)test->hash);
		is_good = is_good && !wrong;
	}
	release(test);
	return is_good;
}

#ifdef __KERNEL__
static int __init selftest_init(void)
{
	return test_all() ? 0 : -EINVAL;
}

static void __exit selftest_exit(void)
{
}

module_init(selftest_init);
module_exit(selftest_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Hashes of the decisions of libuvmpolicy, to compare with those outside the kernel");
#else
int main(void)
{
	return test_all() ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
