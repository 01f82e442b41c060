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
	count = uvmp_fault_order_batch(batch, order, scratch);
	for (uint32_t first = 0; first < count; first += bin.count) {
		uint64_t end = entry[order[first]].address | (UVMP_ROOT_CHUNK_BYTES - 1u);

		bench_check(uvmp_fault_bin_next(entry, order, count, first, end, &bin) == UVMP_OK);
	}
}

/* The core has no vector registers; neither have the lower bounds. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FLOOR __attribute__((__noinline__, __target__("general-regs-only")))
#else
#define FLOOR __attribute__((__noinline__))
#endif

/* The lower bound of fetch: reads each entry of the buffer and writes it into the batch once. */
FLOOR void bench_fetch_floor(void);
FLOOR void bench_fetch_floor(void)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		entry[i].va_space = ring[i].va_space;
		entry[i].gpu = ring[i].gpu;
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
FLOOR uint64_t bench_order_floor(const uint32_t *order, uint32_t *ordered, uint32_t count);
FLOOR uint64_t bench_order_floor(const uint32_t *order, uint32_t *ordered, uint32_t count)
{
	uint64_t keys = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_fault *e = &entry[order[i]];

		keys ^= e->va_space ^ e->gpu ^ e->address ^ e->access;
		ordered[i] = order[i];
	}
	return keys;
}

/* The lower bound of the bins: reads the key and the instances of each representative once. */
FLOOR uint64_t bench_bins_floor(const uint32_t *order, uint32_t count);
FLOOR uint64_t bench_bins_floor(const uint32_t *order, uint32_t count)
{
	uint64_t keys = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_fault *e = &entry[order[i]];

		keys ^= e->va_space ^ e->gpu ^ e->address ^ e->num_instances;
	}
	return keys;
}

static volatile uint64_t floor_keys; /* so that the lower bounds read the keys */

/* The lower bound of the batch: those of the three steps, and one index per representative. */
FLOOR void bench_batch_floor(void);
FLOOR void bench_batch_floor(void)
{
	static uint32_t order[BATCH], ordered[BATCH];

	bench_fetch_floor();
	for (uint32_t i = 0; i < BATCH; i++)
		order[i] = i;
	floor_keys ^= bench_order_floor(order, ordered, BATCH) ^ bench_bins_floor(ordered, BATCH);
}

/* The faults are those of so many address spaces. */
static void draw_batch(uint32_t get, uint32_t spaces)
{
	for (uint32_t n = 0; n < BATCH; n++) {
		ring[(get + n) % (BATCH + 1)] = (struct uvmp_fault){
		        .address = ((uint64_t)bench_draw(BLOCKS) * 512u + bench_draw(64)) * 4096u,
		        .utlb = bench_draw(64),
		        .type = UVMP_FAULT_INVALID_PTE,
		        .access = (uint8_t)(UVMP_ACCESS_READ + bench_draw(2)),
		        .is_valid = true};
		if (spaces > 1) {
			struct uvmp_fault *e = &ring[(get + n) % (BATCH + 1)];

			e->va_space = e->instance = bench_draw(spaces);
		}
	}
}

static const struct uvmp_fetch_params fetch_params = {BATCH, 4096, true, true};

static void batches(unsigned long calls)
{
	struct uvmp_fault_buffer buffer = {ring, BATCH + 1, 0, 0};
	struct uvmp_fault_batch batch = {.entry = entry, .capacity = BATCH + 1, .utlb = utlb, .utlbs = 64};

	for (unsigned long i = 0; i < calls; i++) {
		draw_batch(buffer.get, 1);
		bench_batch_floor();
		bench_begin();
		bench_batch(&fetch_params, &buffer, &batch);
		bench_end();
	}
}

/* One of the three steps at a time, so that its time can be measured. */
enum step { FETCH, BY_INSTANCE, ORDER, BINS, CLASSIFY };

/* Each fault is judged after the one before it, as in the walk over a block: all pages may be written, none is mapped. */
static void classify(const uint32_t *order, uint32_t count)
{
	const struct uvmp_fault_facts facts = {.right = UVMP_RIGHT_READ_WRITE_ATOMIC};
	struct uvmp_fault_verdict verdict[2];
	bool is_ok = true;

	bench_begin();
	for (uint32_t i = 0; i < count; i++)
		is_ok &= uvmp_fault_classify(&entry[order[i]], &facts, i > 0 ? &entry[order[i - 1]] : NULL,
		                             i > 0 ? &verdict[(i + 1) % 2] : NULL, &verdict[i % 2]) == UVMP_OK;
	bench_end();
	bench_check(is_ok);
}

static void steps(enum step step, uint32_t spaces, unsigned long calls)
{
	struct uvmp_fault_buffer buffer = {ring, BATCH + 1, 0, 0};
	struct uvmp_fault_batch batch = {.entry = entry, .capacity = BATCH + 1, .utlb = utlb, .utlbs = 64};
	uint32_t order[BATCH + 1], ordered[BATCH + 1], count, put;
	struct uvmp_fault_bin bin;

	for (unsigned long i = 0; i < calls; i++) {
		draw_batch(buffer.get, spaces);
		bench_fetch_floor();
		put = (buffer.get + BATCH) % (BATCH + 1);
		if (step == FETCH)
			bench_begin();
		bench_check(uvmp_fault_fetch(&fetch_params, UVMP_FETCH_BATCH_READY, put, &buffer, &batch) ==
		            UVMP_OK);
		if (step == FETCH)
			bench_end();
		count = uvmp_fault_representatives(&batch, order);
		floor_keys ^= bench_order_floor(order, ordered, count);
		if (step == BY_INSTANCE) {
			bench_begin();
			uvmp_fault_order_by_instance(entry, order, count, scratch);
			bench_end();
		}
		if (step == ORDER)
			bench_begin();
		uvmp_fault_order(entry, order, count, scratch);
		if (step == ORDER)
			bench_end();
		floor_keys ^= bench_bins_floor(order, count);
		if (step == BINS)
			bench_begin();
		for (uint32_t first = 0; first < count; first += bin.count) {
			uint64_t end = entry[order[first]].address | (UVMP_ROOT_CHUNK_BYTES - 1u);

			bench_check(uvmp_fault_bin_next(entry, order, count, first, end, &bin) == UVMP_OK);
		}
		if (step == BINS)
			bench_end();
		if (step == CLASSIFY)
			classify(order, count);
	}
}

static void fetch(unsigned long calls)
{
	steps(FETCH, 1, calls);
}

static void order_by_page(unsigned long calls)
{
	steps(ORDER, 1, calls);
}

static void order_of_spaces(unsigned long calls)
{
	steps(ORDER, 4, calls);
}

static void order_by_instance(unsigned long calls)
{
	steps(BY_INSTANCE, 4, calls);
}

static void bins(unsigned long calls)
{
	steps(BINS, 1, calls);
}

static void verdicts(unsigned long calls)
{
	steps(CLASSIFY, 1, calls);
}

#define BATCHES .units = BATCH, .calls = 500, .unit = "fault"

const struct bench_case bench_faults_cases[] = {
        {"fetch", "uvmp_fault_fetch", BATCHES, .original = 130, .budget = 60, .floor = "bench_fetch_floor",
         .text = "fetch: 256 faults of 64 uTLBs on 64 pages of each of 64 blocks", .run = fetch},
        {"order", "uvmp_fault_order", BATCHES, .original = 391, .budget = 60, .floor = "bench_order_floor",
         .text = "order by page: the representatives of the same batches", .run = order_by_page},
        {"order-spaces", "uvmp_fault_order", BATCHES, .floor = "bench_order_floor",
         .text = "order by page: faults of 4 address spaces", .run = order_of_spaces},
        {"order-instances", "uvmp_fault_order_by_instance", BATCHES, .floor = "bench_order_floor",
         .text = "order by instance: faults of 4 instances", .run = order_by_instance},
        {"bins", "uvmp_fault_bin_next", BATCHES, .floor = "bench_bins_floor", .text = "bins: the same batches",
         .run = bins},
        {"classify", "uvmp_fault_classify", BATCHES, .text = "permission check: the same batches", .run = verdicts},
        {"batch", "bench_batch", BATCHES, .original = 525, .budget = 120, .budget_ns = 12,
         .floor = "bench_batch_floor", .text = "fetch and order and bins: the same batches", .run = batches},
        {0}};
