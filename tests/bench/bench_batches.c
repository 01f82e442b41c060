/* Batches of 256 faults through the whole engine: faults in, all actions taken and completed.
 *
 * Inputs: one GPU; the CPU holds and maps the data of one range of VABlocks; the default policy (density, evict=lru,
 * batches of 256). Every fault is a write to a page that the GPU does not have, of one channel, of one of 64 uTLBs. The
 * faults of a batch come in random order. Each block of a batch is new to the GPU, or has left it. `contiguous`: the
 * faulted pages of a block are consecutive, from page 0 on. `random`: they are distinct random pages. `evicting`: the memory
 * of the GPU is full, with blocks that earlier batches of the same kind have filled; each block evicts another one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "uvmpolicy/uvmpolicy.h"

#define SPACE	 1u
#define BASE	 0x100000000u
#define BATCH	 256u
#define PAGES	 512u
#define BLOCKS	 4096u /* managed */
#define RESIDENT 1024u /* that fit in the memory of the GPU, if the case evicts */
#define ACTIONS	 4096u /* of a batch, at most */

struct input {
	uint32_t blocks; /* of a batch */
	bool is_random, evicts;
};

static struct uvmp_service *service;
static void *memory;
static uint64_t now_ns;
static struct uvmp_fault batch[BATCH], read_batch[BATCH];
static struct uvmp_action taken[ACTIONS], written[ACTIONS];
static uint32_t next_block, actions;

/* The measured functions. */
__attribute__((noinline)) void bench_engine_batch(void);
__attribute__((noinline)) void bench_engine_floor(void);

void bench_engine_batch(void)
{
	const struct uvmp_action *action;

	for (uint32_t i = 0; i < BATCH; i++)
		bench_check(uvmp_service_fault(service, 1, &batch[i]) == UVMP_OK);
	while (uvmp_service_next(service, now_ns, &action) == UVMP_OK)
		uvmp_service_complete(service, action->id, UVMP_OK);
}

/* One load and one store a word: callgrind counts the copy of a structure by one string instruction as one instruction. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	const volatile uint64_t *word = from;
	volatile uint64_t *copy = to;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		copy[i] = word[i];
}

/* Lower bound: every fault and every action is read and written once. */
void bench_engine_floor(void)
{
	copy_words(read_batch, batch, sizeof(batch));
	copy_words(written, taken, actions * sizeof(taken[0]));
}

static void make_engine(const struct input *input)
{
	uint64_t root = UVMP_ROOT_CHUNK_BYTES;
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {.size = sizeof(gpu),
				       .memory_bytes = (input->evicts ? RESIDENT : BLOCKS) * root,
				       .fault_entries = 4096,
				       .utlbs = 64};
	struct uvmp_service_params params = {.size = sizeof(params),
					     .processors = &processors,
					     .gpu = &gpu,
					     .page_bytes = 4096,
					     .blocks = BLOCKS,
					     .spaces = 1,
					     .ranges = 1024,
					     .instances = 1,
					     .requests = 16};
	struct uvmp_policy policy;
	size_t bytes;

	uvmp_policy_init(&policy);
	params.policy = &policy;
	bytes = uvmp_service_size(&params, BLOCKS);
	free(memory);
	memory = bench_memory(bytes);
	memset(memory, 0, bytes); /* the host commits the pages before the measurement */
	bench_check(uvmp_service_init(&params, memory, bytes, &service) == UVMP_OK);
	bench_check(uvmp_service_bind(service, 1, UVMP_APERTURE_VID, 0, 0, SPACE) == UVMP_OK);
	bench_check(uvmp_service_add_range(service, SPACE, BASE, BLOCKS * root, UVMP_RIGHT_READ_WRITE_ATOMIC,
					   UVMP_CPU) == UVMP_OK);
	next_block = 0;
}

static void fault_on(uint32_t index, uint64_t page)
{
	batch[index] = (struct uvmp_fault){.address = BASE + page * 4096u,
					   .aperture = UVMP_APERTURE_VID,
					   .utlb = bench_draw(64),
					   .type = UVMP_FAULT_INVALID_PTE,
					   .access = UVMP_ACCESS_WRITE};
}

/* The next batch: each of its blocks, its faults in random order. */
static void draw_batch(const struct input *input)
{
	uint32_t pages = BATCH / input->blocks, index = 0;

	for (uint32_t i = 0; i < input->blocks; i++) {
		bool is_taken[PAGES] = {false};

		for (uint32_t n = 0; n < pages; n++) {
			uint32_t page = input->is_random ? bench_draw(PAGES) : n;

			while (is_taken[page])
				page = bench_draw(PAGES);
			is_taken[page] = true;
			fault_on(index++, (uint64_t)(next_block + i) * PAGES + page);
		}
	}
	next_block = (next_block + input->blocks) % BLOCKS;
	for (uint32_t i = BATCH; i > 1u; i--) {
		uint32_t other = bench_draw(i);
		struct uvmp_fault fault = batch[other];

		batch[other] = batch[i - 1u];
		batch[i - 1u] = fault;
	}
}

/* One batch, not measured; its actions are kept for the lower bound. */
static void fill(const struct input *input)
{
	const struct uvmp_action *action;

	draw_batch(input);
	for (uint32_t i = 0; i < BATCH; i++)
		bench_check(uvmp_service_fault(service, 1, &batch[i]) == UVMP_OK);
	for (actions = 0; uvmp_service_next(service, now_ns, &action) == UVMP_OK; actions++) {
		bench_check(actions < ACTIONS);
		taken[actions] = *action;
		uvmp_service_complete(service, action->id, UVMP_OK);
	}
	now_ns += 100000;
}

static void begin(const struct input *input)
{
	make_engine(input);
	fill(input);
	for (uint32_t filled = input->blocks; input->evicts && filled < RESIDENT + input->blocks;
	     filled += input->blocks)
		fill(input);
}

static void run(const struct input *input, unsigned long batches)
{
	now_ns = 100000;
	begin(input);
	for (unsigned long i = 0; i < batches; i++) {
		if (!input->evicts && next_block == 0)
			begin(input);
		draw_batch(input);
		bench_begin();
		bench_engine_batch();
		bench_end();
		now_ns += 100000;
	}
	for (unsigned long i = 0; i < batches;
	     i++) /* behind: its copies would take the caches from the engine */
		bench_engine_floor();
}

#define RUN(name, ...)                                                                                       \
	static void name(unsigned long batches)                                                              \
	{                                                                                                    \
		run(&(const struct input){__VA_ARGS__}, batches);                                            \
	}
RUN(contiguous_16, 16, false, false)
RUN(random_16, 16, true, false)
RUN(contiguous_16_evicting, 16, false, true)
RUN(random_16_evicting, 16, true, true)
RUN(contiguous_1, 1, false, false)
RUN(random_1, 1, true, false)
RUN(contiguous_256, 256, false, false)
RUN(random_256, 256, true, false)
RUN(contiguous_256_evicting, 256, false, true)
RUN(random_256_evicting, 256, true, true)

/* design.md, section 9: the engine that evicts has 1.4 times as long. */
#define CASE(suffix, function_, ns, calls_, text_)                                                           \
	{                                                                                                    \
		"engine-" suffix, "bench_engine_batch",                                                      \
			.units = 1, .budget_ns = ns, .calls = calls_, .floor = "bench_engine_floor",         \
			.unit = "batch", .text = "engine: batch of 256 faults on " text_, .run = function_   \
	}
const struct bench_case bench_batches_cases[] = {
	CASE("16-contiguous", contiguous_16, 5000, 64, "16 blocks; contiguous pages"),
	CASE("16-random", random_16, 12000, 64, "16 blocks; random pages"),
	CASE("16-contiguous-evicting", contiguous_16_evicting, 7000, 64,
	     "16 blocks; contiguous pages; each evicts one"),
	CASE("16-random-evicting", random_16_evicting, 16800, 64, "16 blocks; random pages; each evicts one"),
	CASE("1-contiguous", contiguous_1, 0, 64, "1 block; contiguous pages"),
	CASE("1-random", random_1, 0, 64, "1 block; random pages"),
	CASE("256-contiguous", contiguous_256, 60000, 16, "256 blocks; their first page"),
	CASE("256-random", random_256, 60000, 16, "256 blocks; a random page"),
	CASE("256-contiguous-evicting", contiguous_256_evicting, 84000, 16,
	     "256 blocks; their first page; each evicts one"),
	CASE("256-random-evicting", random_256_evicting, 84000, 16,
	     "256 blocks; a random page; each evicts one"),
	{0}};
