/* What must hold of the engine, with random policies of the controllers and of the prefetchers that they
 * change: uvmp_service_check and the mirror of mappings after every event, an end to every run, LIMIT only
 * where the GPU's SMs are known and never twice the same, and wake-ups that end when nothing happens any
 * more. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/engine_host.h"
#include "support/seed.h"
#include "uvmpolicy/adapt.h"
#include "uvmpolicy/base.h"

#define MIB2   0x200000u
#define PAGE   4096u
#define BASE   0x40000000u
#define BLOCKS 6u
#define SPACE  1u
#define CASES  500
#define EVENTS 60
#define WAKES  200u

static struct engine e;
static uint64_t random_state;
static uint32_t told[ENGINE_GPUS_MAX + 1u][2]; /* by the last LIMIT */
static uint32_t pattern, concluded;            /* by the last PATTERNs */

static uint32_t draw(uint32_t bound)
{
	return (uint32_t)(uvmp_random_next(&random_state) >> 33) % bound;
}

/* One range; what is said is news, and conclusions are never taken back. */
static void heed_pattern(const struct engine *host, const struct uvmp_action *a)
{
	assert_true(host->policy.runtime);
	if (a->is_update) {
		assert_true(a->detail > concluded && a->detail <= UVMP_PATTERN_REMOTE);
		concluded = a->detail;
		return;
	}
	assert_int_equal(a->address, BASE);
	assert_true(a->count != pattern && a->count != UVMP_PATTERN_UNDECIDED);
	pattern = a->count;
}

static void heed(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_PATTERN)
		heed_pattern(host, a);
	if (a->kind != UVMP_ACTION_LIMIT)
		return;
	assert_true(host->gpu[a->to - 1u].sms != 0);
	assert_true(a->count < host->gpu[a->to - 1u].sms);
	assert_true(a->detail <= host->policy.controls.extra_blocks);
	assert_true(told[a->to][0] != a->count || told[a->to][1] != a->detail);
	told[a->to][0] = a->count;
	told[a->to][1] = a->detail;
}

/* And pages, of 64 KiB where the order can have them. */
static void draw_policy(void)
{
	static const char *const prefetch[] = {"prefetch=density", "prefetch=next",   "prefetch=pattern",
	                                       "prefetch=safe",    "prefetch=stride", "prefetch=tbn",
	                                       "prefetch=sl"};
	static const char *const adapt[] = {"", " adapt=pressure pressure_window=4",
	                                    " adapt=early early_epoch_us=50",
	                                    " adapt=pressure pressure_off=1"};
	static const char *const evict[] = {"",
	                                    " evict=lru2m",
	                                    " evict=lru2m granularity=64k",
	                                    " evict=lru4k",
	                                    " evict=tbne",
	                                    " evict=tbne runtime=on",
	                                    " evict=tbne runtime=on quirks=0"};
	static const char *const limits[] = {"", " threads=on threads_period_us=20",
	                                     " sm_throttle=on sm_epoch_us=40",
	                                     " threads=on extra_blocks=5 sm_throttle=on"};
	static const char *const full[] = {"", " prefetch_full=none", " prefetch_full=safe",
	                                   " prefetch_full=pattern"};
	uint32_t p = draw(7), order = draw(7);
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s%s%s", prefetch[p], p < 3u ? adapt[draw(4)] : "", evict[order],
	         limits[draw(4)], full[draw(4)]);
	assert_true(engine_policy(&e, text));
	e.params.page_bytes = order < 3u && draw(2) == 0 ? 65536 : PAGE;
}

static uvmp_addr draw_page(void)
{
	uint32_t pages = MIB2 / e.params.page_bytes;

	return BASE + (uvmp_addr)draw(BLOCKS) * MIB2 +
	       (uvmp_addr)draw(draw(2) == 0 ? 16 : pages) * e.params.page_bytes;
}

static void event(uint64_t *kernel)
{
	uint32_t gpu = 1u + draw(e.processors.count - 1u);
	struct uvmp_fault entry;

	switch (draw(10)) {
	case 0:
		(void)uvmp_service_cpu_fault(e.service, SPACE, draw_page(),
		                             draw(2) == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE, 0, NULL);
		break;
	case 1:
		(void)uvmp_service_touch(e.service, gpu, SPACE, draw_page());
		if (draw(16) == 0)
			(void)uvmp_service_synchronise(e.service, gpu);
		break;
	case 2:
		(void)uvmp_service_migrate(e.service, SPACE, draw_page(),
		                           (uint64_t)(1u + draw(40)) * e.params.page_bytes, draw(2) * gpu,
		                           NULL);
		break;
	case 3:
		(void)uvmp_service_advise(e.service, SPACE, draw_page(),
		                          (uint64_t)(1u + draw(600)) * e.params.page_bytes,
		                          (enum uvmp_advice)draw(7), gpu, NULL);
		break;
	case 4:
		if (draw(2) == 0)
			(void)uvmp_service_begin_kernel(e.service, gpu, e.now_ns, kernel);
		else
			(void)uvmp_service_end_kernel(e.service, *kernel, e.now_ns);
		break;
	case 5:
		if (draw(4) != 0)
			break;
		(void)uvmp_service_free_range(e.service, SPACE, BASE, NULL);
		(void)engine_run(&e);
		pattern = UVMP_PATTERN_UNDECIDED;
		(void)uvmp_service_add_range(e.service, SPACE, BASE,
		                             (uint64_t)BLOCKS * MIB2 -
		                                     (uint64_t)e.params.page_bytes * draw(60),
		                             UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_PROC_NONE);
		break;
	default:
		for (uint32_t n = 1u + draw(8); n > 0; n--) {
			entry = engine_entry(SPACE, draw_page(),
			                     draw(2) == 0 ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE);
			entry.utlb = draw(8);
			(void)uvmp_service_fault(e.service, gpu, &entry);
		}
		break;
	}
	engine_forget(&e);
	e.now_ns += draw(30000);
	(void)engine_run(&e);
	assert_true(uvmp_service_check(e.service));
}

/* The host of an engine whose arena is short gives it more, once: then waiting operations continue. */
static void grow_if_short(bool *has_grown)
{
	static _Alignas(64) uint8_t more[1 << 20];

	if (e.next != UVMP_ERR_ARENA)
		return;
	assert_false(*has_grown);
	assert_int_equal(uvmp_service_grow(e.service, more, sizeof(more)), UVMP_OK);
	*has_grown = true;
	(void)engine_run(&e);
}

static void live(uint64_t seed)
{
	bool has_grown = false;
	uint32_t gpus, wakes = 0;
	uint64_t kernel = 0;

	random_state = seed;
	do {
		gpus = 1u + draw(2);
		engine_init(&e, gpus, 1u + draw(2));
		draw_policy();
	} while (uvmp_service_size(&e.params, 1) == 0); /* some know one GPU only */
	memset(told, 0, sizeof(told));
	pattern = concluded = 0;
	e.is_checking = false;
	e.hook = heed;
	for (uint32_t i = 0; i < gpus; i++)
		e.gpu[i].sms = draw(3) == 0 ? 0 : 1u + draw(20);
	assert_true(engine_start(&e, draw(4), draw(2) == 0 ? 1 << 18 : draw(8000)));
	for (uint32_t gpu = 1; gpu <= gpus; gpu++)
		engine_bind(&e, gpu, SPACE);
	engine_range(&e, SPACE, BASE, (uint64_t)BLOCKS * MIB2, UVMP_PROC_NONE);
	for (uint32_t i = 0; i < EVENTS; i++)
		event(&kernel);
	grow_if_short(&has_grown);
	for (; uvmp_service_wakeup_ns(e.service) != UINT64_MAX && wakes < WAKES; wakes++) {
		if (uvmp_service_wakeup_ns(e.service) > e.now_ns)
			e.now_ns = uvmp_service_wakeup_ns(e.service);
		(void)engine_run(&e);
		grow_if_short(&has_grown);
	}
	assert_true(wakes < WAKES);
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

static void holds_together(void **state)
{
	uint64_t seed = test_seed();

	(void)state;
	for (uint64_t i = 0; i < test_share_of(CASES); i++)
		live((seed + i) * 0x9e3779b97f4a7c15u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(holds_together)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
