/* Runs of pages that a simulated GPU takes at once, and lanes that ask again without a look at the page tables, beside the
 * same pages one by one, each with a look: two GPUs run the same kernel, and a driver that acts at random serves both alike.
 * Time, faults and counts are equal throughout. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "support/seed.h"
#include "timed/gpu.h"
#include "timed/gpu_internal.h"

#define KERNELS 60u

struct rig {
	struct source *source;
	struct workload *workload;
	struct space space;
	struct link link;
	struct gpu *gpu;
	uint64_t touched; /* hash of what the listener heard */
};

static struct rig rig[2]; /* the second asks page by page */
static struct model model;
static uint64_t seed;
static char error[SOURCE_ERROR_MAX];

static uint32_t below(uint32_t most)
{
	return (uint32_t)uvmp_random_below(&seed, most);
}

static void on_touch(void *context, struct sim_block *block, uint32_t page, bool is_write, uint32_t accesses, uint64_t now_ns)
{
	struct rig *r = context;

	(void)accesses;
	(void)now_ns; /* of the call: the SM's steps may be grouped otherwise */
	r->touched = (r->touched ^ (block->number * 1024u + page * 2u + is_write)) * 0x9e3779b97f4a7c15u;
}

static void open_rig(struct rig *r, const char *spec, bool asks_singly)
{
	r->touched = 0;
	r->source = workload_open(spec, 7, error);
	if (r->source == NULL)
		fail_msg("%s", error);
	r->workload = workload_of(r->source);
	assert_true(space_open(&r->space, model.page_bytes));
	for (unsigned i = 0; i < r->workload->ranges; i++)
		assert_true(space_add_range(&r->space, &r->workload->range[i], error));
	r->link = (struct link){.model = &model};
	r->gpu = gpu_open(&model, &r->space, &r->link, (struct gpu_listener){.touch = on_touch, .context = r});
	assert_non_null(r->gpu);
	r->gpu->asks_singly = asks_singly;
	assert_true(workload_launch(r->workload));
	assert_true(gpu_launch(r->gpu, r->workload, 0));
}

static void close_rig(struct rig *r)
{
	gpu_close(r->gpu);
	space_close(&r->space);
	r->source->close(r->source);
}

static void choose_model(void)
{
	char text[MODEL_ERROR_MAX];

	assert_true(model_open(below(2) == 0 ? "titan-v" : "gtx-1080-ti", NULL, &model, text));
	model.sms = 1u + below(6);
	model.sms_per_utlb = 1u + below(2);
	model.utlb_entries = 4u + below(30);
	model.utlb_faults = 1u + below(40);
	model.walk_ns = below(500);
}

/* Pages around the faulted page, sometimes others, get or lose rights. Both GPUs see it at the same time. */
static void change_pages(uint64_t address, uint64_t at_ns)
{
	uint32_t first, page, right = below(8) == 0 ? UVMP_RIGHT_NONE : 1u + below(3);
	bool is_remote = right != UVMP_RIGHT_NONE && below(6) == 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct sim_block *block = space_find(&rig[i].space, address, &page);
		uint64_t before = seed;
		uvmp_mask pages;

		assert_non_null(block);
		first = below(3) == 0 ? below(block->shape.pages) : page;
		uvmp_mask_zero(&pages);
		uvmp_mask_region_set(
			&pages, (struct uvmp_region){first, first + 1u + below(block->shape.pages - first)});
		if (right != UVMP_RIGHT_NONE)
			uvmp_mask_set(&pages, page);
		gpu_map(rig[i].gpu, at_ns, block, &pages, right, is_remote);
		if (i == 0)
			seed = before;
	}
}

/* Takes the faults that both have written; false: they differ. */
static bool serve(uint64_t now_ns)
{
	uint64_t address = 0;
	bool has_fault = false;

	for (;;) {
		const struct gpu_fault *a = gpu_first_fault(rig[0].gpu, now_ns);
		const struct gpu_fault *b = gpu_first_fault(rig[1].gpu, now_ns);

		if (a == NULL || b == NULL) {
			if (a != b)
				return false;
			break;
		}
		if (a->time_ns != b->time_ns || a->address != b->address || a->utlb != b->utlb ||
		    a->type != b->type || a->access != b->access)
			return false;
		if (!has_fault || below(8) == 0)
			address = a->address;
		has_fault = true;
		if (below(4) == 0)
			change_pages(a->address, now_ns + below(3000));
		gpu_take_fault(rig[0].gpu);
		gpu_take_fault(rig[1].gpu);
	}
	if (has_fault)
		change_pages(address, now_ns + 1000u);
	gpu_fetch_faults(rig[0].gpu, 0);
	gpu_fetch_faults(rig[1].gpu, 0);
	gpu_replay(rig[0].gpu, now_ns + 3000u);
	gpu_replay(rig[1].gpu, now_ns + 3000u);
	return true;
}

/* The definition of gpu->soonest_ns. */
static uint64_t soonest_ns(const struct gpu *gpu)
{
	uint64_t soonest = GPU_NEVER;

	for (uint32_t i = 0; i < gpu->runs; i++) {
		for (uint32_t k = 0; k < gpu->sm[i].count; k++) {
			if (gpu->sm[i].ready[gpu->sm[i].first + k].ready_ns < soonest)
				soonest = gpu->sm[i].ready[gpu->sm[i].first + k].ready_ns;
		}
	}
	return soonest;
}

static bool is_same(void)
{
	struct gpu_counts counts[2];

	memset(counts, 0, sizeof(counts));
	for (uint32_t i = 0; i < 2; i++) {
		gpu_count(rig[i].gpu, &counts[i]);
		assert_int_equal(rig[i].gpu->soonest_ns, soonest_ns(rig[i].gpu));
	}
	return memcmp(&counts[0], &counts[1], sizeof(counts[0])) == 0 && rig[0].touched == rig[1].touched &&
	       gpu_now_ns(rig[0].gpu) == gpu_now_ns(rig[1].gpu) &&
	       gpu_is_done(rig[0].gpu) == gpu_is_done(rig[1].gpu);
}

/* Some SMs may stand still, and thread blocks be switched in and out, on both GPUs alike. */
static void limit(void)
{
	uint32_t still = below(2) == 0 ? below(model.sms) : 0, extra = below(2) == 0 ? below(4) : 0;

	gpu_limit(rig[0].gpu, 0, still, extra);
	gpu_limit(rig[1].gpu, 0, still, extra);
}

/* Returns whether lanes have waited that did not look at the page tables again. */
static bool run_kernel(const char *spec)
{
	bool has_waited;

	choose_model();
	open_rig(&rig[0], spec, false);
	open_rig(&rig[1], spec, true);
	limit();
	for (uint32_t turn = 0; turn < 400 && !gpu_is_done(rig[0].gpu); turn++) {
		uint64_t limit_ns = gpu_now_ns(rig[0].gpu) + 5000u + below(20000);

		gpu_run(rig[0].gpu, limit_ns);
		gpu_run(rig[1].gpu, limit_ns);
		if (!is_same() || !serve(gpu_now_ns(rig[0].gpu)) || !is_same())
			fail_msg("%s, turn %u: runs and single pages differ", spec, (unsigned)turn);
	}
	has_waited = rig[0].gpu->lanes.capacity != 0;
	assert_true(gpu_is_done(rig[0].gpu) || rig[0].touched != 0);
	assert_int_equal(rig[1].gpu->lanes.capacity, 0);
	close_rig(&rig[0]);
	close_rig(&rig[1]);
	return has_waited;
}

static void runs_mean_their_pages(void **state)
{
	static const char *const specs[] = {"random:bytes=4m",
					    "stream:bytes=4m",
					    "tiles:tiles=6,tile=1m",
					    "regular:bytes=4m",
					    "sgemm:n=256",
					    "stencil:n=1024",
					    "random:bytes=3m,threads=1024,write=1",
					    "bfs:scale=12",
					    "stream_warp:bytes=4m"};
	uint32_t waited = 0;

	(void)state;
	seed = test_seed();
	for (uint32_t i = 0; i < test_share_of(KERNELS); i++)
		waited += run_kernel(specs[i % (sizeof(specs) / sizeof(specs[0]))]);
	assert_true(waited != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_mean_their_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
