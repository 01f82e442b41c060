/* Faults of a batch: fetched from the buffer, ordered by page, cut into bins of one VABlock each. */
#include <stdbool.h>

#include "bench.h"
#include "uvmpolicy/advanced.h"

#define BLOCKS 64u
#define BATCH  256u

static struct uvmp_fault ring[BATCH + 1], entry[BATCH + 1];
static struct uvmp_utlb utlb[64];
static uint64_t scratch[UVMP_FAULT_ORDER_WORDS(BATCH + 1)];

/* A batch as the engine prepares it. */
__attribute__((noinline)) void bench_batch(const struct uvmp_fetch_params *params,
                                           struct uvmp_fault_buffer *buffer, struct uvmp_fault_batch *batch);
void bench_batch(const struct uvmp_fetch_params *params, struct uvmp_fault_buffer *buffer,
                 struct uvmp_fault_batch *batch)
{
	uint32_t order[BATCH + 1], count, put = (buffer->get + BATCH) % (BATCH + 1);
	struct uvmp_fault_bin bin;

	bench_check(uvmp_fault_fetch(params, UVMP_FETCH_BATCH_READY, put, buffer, batch) == UVMP_OK);
	count = uvmp_fault_representatives(batch, order);
	uvmp_fault_order(entry, order, count, scratch);
	for (uint32_t first = 0; first < count; first += bin.count) {
		uint64_t end = entry[order[first]].address | (UVMP_ROOT_CHUNK_BYTES - 1u);

		bench_check(uvmp_fault_bin_next(entry, order, count, first, end, &bin) == UVMP_OK);
	}
}

/* The lower bound: reads each entry of the buffer and writes it into the batch once. */
__attribute__((noinline)) void bench_batch_floor(void);
void bench_batch_floor(void)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		entry[i].address = ring[i].address & ~(uint64_t)4095u;
		entry[i].timestamp_ns = ring[i].timestamp_ns;
		entry[i].instance = ring[i].instance;
		entry[i].aperture = ring[i].aperture;
		entry[i].subcontext = ring[i].subcontext;
		entry[i].utlb = ring[i].utlb;
		entry[i].type = ring[i].type;
		entry[i].access = ring[i].access;
		entry[i].is_fatal = false;
		entry[i].is_filtered = false;
		entry[i].access_mask = (uint8_t)(1u << ring[i].access);
		entry[i].num_instances = 1;
	}
}

/* The lower bound of the order: reads the key of each representative and writes its index once. */
__attribute__((noinline)) uint64_t bench_order_floor(const uint32_t *order, uint32_t *ordered, uint32_t count);
uint64_t bench_order_floor(const uint32_t *order, uint32_t *ordered, uint32_t count)
{
	uint64_t keys = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_fault *e = &entry[order[i]];

		keys ^= e->va_space ^ e->gpu ^ e->address ^ e->access;
		ordered[i] = order[i];
	}
	return keys;
}

static void draw_batch(uint32_t get)
{
	for (uint32_t n = 0; n < BATCH; n++) {
		ring[(get + n) % (BATCH + 1)] = (struct uvmp_fault){
		        .address = ((uint64_t)bench_draw(BLOCKS) * 512u + bench_draw(64)) * 4096u,
		        .utlb = bench_draw(64),
		        .type = UVMP_FAULT_INVALID_PTE,
		        .access = (uint8_t)(UVMP_ACCESS_READ + bench_draw(2)),
		        .is_valid = true};
	}
}

static const struct uvmp_fetch_params fetch_params = {BATCH, 4096, true, true};

static void batches(unsigned long calls)
{
	struct uvmp_fault_buffer buffer = {ring, BATCH + 1, 0, 0};
	struct uvmp_fault_batch batch = {.entry = entry, .capacity = BATCH + 1, .utlb = utlb, .utlbs = 64};

	for (unsigned long i = 0; i < calls; i++) {
		draw_batch(buffer.get);
		bench_batch_floor();
		bench_begin();
		bench_batch(&fetch_params, &buffer, &batch);
		bench_end();
	}
}

/* One of the three steps at a time, so that its time can be measured. */
enum step { FETCH, ORDER, BINS };

static volatile uint64_t floor_keys; /* so that the lower bound reads the keys */

static void steps(enum step step, unsigned long calls)
{
	struct uvmp_fault_buffer buffer = {ring, BATCH + 1, 0, 0};
	struct uvmp_fault_batch batch = {.entry = entry, .capacity = BATCH + 1, .utlb = utlb, .utlbs = 64};
	uint32_t order[BATCH + 1], ordered[BATCH + 1], count, put;
	struct uvmp_fault_bin bin;

	for (unsigned long i = 0; i < calls; i++) {
		draw_batch(buffer.get);
		bench_batch_floor();
		put = (buffer.get + BATCH) % (BATCH + 1);
		if (step == FETCH)
			bench_begin();
		bench_check(uvmp_fault_fetch(&fetch_params, UVMP_FETCH_BATCH_READY, put, &buffer, &batch) ==
		            UVMP_OK);
		if (step == FETCH)
			bench_end();
		count = uvmp_fault_representatives(&batch, order);
		floor_keys ^= bench_order_floor(order, ordered, count);
		if (step == ORDER)
			bench_begin();
		uvmp_fault_order(entry, order, count, scratch);
		if (step == ORDER)
			bench_end();
		if (step == BINS)
			bench_begin();
		for (uint32_t first = 0; first < count; first += bin.count) {
			uint64_t end = entry[order[first]].address | (UVMP_ROOT_CHUNK_BYTES - 1u);

			bench_check(uvmp_fault_bin_next(entry, order, count, first, end, &bin) == UVMP_OK);
		}
		if (step == BINS)
			bench_end();
	}
}

static void fetch(unsigned long calls)
{
	steps(FETCH, calls);
}

static void order_by_page(unsigned long calls)
{
	steps(ORDER, calls);
}

static void bins(unsigned long calls)
{
	steps(BINS, calls);
}

#define BATCHES .units = BATCH, .calls = 500, .unit = "fault"

const struct bench_case bench_faults_cases[] = {
        {"fetch", "uvmp_fault_fetch", BATCHES, .original = 130, .budget = 60, .floor = "bench_batch_floor",
         .text = "fetch: 256 faults of 64 uTLBs on 64 pages of each of 64 blocks", .run = fetch},
        {"order", "uvmp_fault_order", BATCHES, .original = 391, .budget = 60, .floor = "bench_order_floor",
         .text = "order by page: the representatives of the same batches", .run = order_by_page},
        {"bins", "uvmp_fault_bin_next", BATCHES, .text = "bins: the same batches", .run = bins},
        {"batch", "bench_batch", BATCHES, .original = 525, .budget = 120, .budget_ns = 12,
         .floor = "bench_batch_floor", .text = "fetch and order and bins: the same batches", .run = batches},
        {0}};
