/* Calls one function of the core COUNT times on inputs drawn from SEED; bench.sh counts the instructions
 * spent inside it. usage: bench CASE SEED COUNT; `bench` alone lists the cases as `CASE FUNCTION
 * UNITS_PER_CALL DESCRIPTION`, `bench arena` prints the memory that an engine needs, `bench state` that of
 * uvmsim per page of 32 GB on 12 GB, in thousandths of bytes; `bench measure FILE PROGRAM ARGUMENT...` runs
 * the program, its output into the file, and prints wall and CPU time in microseconds and the most memory
 * that it held, in KiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "space.h"
#include "uvmpolicy/advanced.h"
#include "uvmpolicy/uvmpolicy.h"

#define BLOCKS 64u
#define BATCH  256u

static uint64_t random_state;
static uint32_t draw(uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&random_state, bound);
}

/* -- prefetchers: blocks that fill up, fault by fault -- */

static void prefetch(enum uvmp_prefetcher prefetcher, uint32_t faults, unsigned long count)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_hint hint;

	uvmp_prefetch_params_init(&params, prefetcher);
	for (unsigned long i = 0; i < count;) {
		struct uvmp_prefetch_state state;
		struct uvmp_block block;
		struct uvmp_tree tree;
		uvmp_mask resident, faulted;

		uvmp_block_from_shape(512, 0, 16, &block);
		uvmp_prefetch_state_init(&state);
		uvmp_tree_init(&tree, 32);
		state.tree = &tree;
		uvmp_mask_zero(&resident);
		while (i < count && uvmp_mask_weight(&resident) < 512u) {
			struct uvmp_prefetch_facts facts = {.block = block,
			                                    .faulted = &faulted,
			                                    .resident = &resident,
			                                    .to = 1,
			                                    .range_pages = 512};

			uvmp_mask_zero(&faulted);
			for (uint32_t f = 0; f < faults; f++) {
				uint32_t page = uvmp_mask_next_clear(&resident, draw(512));

				uvmp_mask_set(&faulted,
				              page < 512u ? page : uvmp_mask_next_clear(&resident, 0));
			}
			facts.faulted_region = uvmp_mask_bounds(&faulted);
			if (uvmp_prefetch_decide(&params, &facts, &state, &hint) != UVMP_OK)
				exit(1);
			uvmp_mask_or(&resident, &resident, &faulted);
			if (hint.to == 1)
				uvmp_mask_or(&resident, &resident, &hint.pages);
			i++;
		}
	}
}

/* Decisions that do not depend on each other: every `stride`-th page faults, or with stride 0 `faults` random
 * pages; `resident` other random pages are resident. */
static void prefetch_once(uint32_t stride, uint32_t faults, uint32_t resident_pages, unsigned long count)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	uvmp_mask resident, faulted;
	struct uvmp_prefetch_facts facts = {
	        .faulted = &faulted, .resident = &resident, .to = 1, .range_pages = 512};

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_block_from_shape(512, 0, 16, &facts.block);
	for (unsigned long i = 0; i < count; i++) {
		uvmp_prefetch_state_init(&state);
		uvmp_mask_zero(&resident);
		uvmp_mask_zero(&faulted);
		for (uint32_t page = 0; stride != 0 && page < 512u; page += stride)
			uvmp_mask_set(&faulted, page);
		while (stride == 0 && uvmp_mask_weight(&faulted) < faults)
			uvmp_mask_set(&faulted, draw(512));
		while (uvmp_mask_weight(&resident) < resident_pages) {
			uvmp_mask_set(&resident, draw(512));
			uvmp_mask_andnot(&resident, &resident, &faulted);
		}
		facts.faulted_region = uvmp_mask_bounds(&faulted);
		if (uvmp_prefetch_decide(&params, &facts, &state, &hint) != UVMP_OK)
			exit(1);
	}
}

/* -- faults -- */

static struct uvmp_fault ring[BATCH + 1], entry[BATCH + 1];
static struct uvmp_utlb utlb[64];

/* A batch as the engine prepares it: fetched, ordered by page, cut into bins of one VABlock each. */
__attribute__((noinline)) void bench_batch(const struct uvmp_fetch_params *params,
                                           struct uvmp_fault_buffer *buffer, struct uvmp_fault_batch *batch);
void bench_batch(const struct uvmp_fetch_params *params, struct uvmp_fault_buffer *buffer,
                 struct uvmp_fault_batch *batch)
{
	uint32_t order[BATCH + 1], count, put = (buffer->get + BATCH) % (BATCH + 1);
	struct uvmp_fault_bin bin;

	if (uvmp_fault_fetch(params, UVMP_FETCH_BATCH_READY, put, buffer, batch) != UVMP_OK)
		exit(1);
	count = uvmp_fault_representatives(batch, order);
	uvmp_fault_order(entry, order, count);
	for (uint32_t first = 0; first < count; first += bin.count) {
		uint64_t end = entry[order[first]].address | (UVMP_ROOT_CHUNK_BYTES - 1u);

		if (uvmp_fault_bin_next(entry, order, count, first, end, &bin) != UVMP_OK)
			exit(1);
	}
}

static void batches(unsigned long count)
{
	struct uvmp_fault_buffer buffer = {ring, BATCH + 1, 0, 0};
	struct uvmp_fault_batch batch = {.entry = entry, .capacity = BATCH + 1, .utlb = utlb, .utlbs = 64};
	struct uvmp_fetch_params params = {BATCH, 4096, true, true};

	for (unsigned long i = 0; i < count; i++) {
		for (uint32_t n = 0; n < BATCH; n++) {
			struct uvmp_fault fault = {.address =
			                                   ((uint64_t)draw(BLOCKS) * 512u + draw(64)) * 4096u,
			                           .utlb = draw(64),
			                           .type = UVMP_FAULT_INVALID_PTE,
			                           .access = (uint8_t)(UVMP_ACCESS_READ + draw(2)),
			                           .is_valid = true};

			ring[(buffer.get + n) % (BATCH + 1)] = fault;
		}
		bench_batch(&params, &buffer, &batch);
	}
}

/* -- thrashing: a page that CPU and GPU take from each other every 100 us; another page that never moves --
 */

static void thrash(uint32_t asked_page, unsigned long count)
{
	static const struct uvmp_processors processors = {
	        .count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};
	struct uvmp_thrash_params params;
	struct uvmp_thrash_space space;
	struct uvmp_thrash_block block;
	size_t bytes = uvmp_thrash_array_size(512);
	void *memory = malloc(bytes);
	uint64_t now = 1000000;

	uvmp_thrash_params_init(&params);
	if (!memory || uvmp_thrash_space_init(&space, &params) != UVMP_OK ||
	    uvmp_thrash_block_init(&block, 1, 512) != UVMP_OK ||
	    uvmp_thrash_block_give(&block, memory, bytes) != UVMP_OK)
		exit(1);
	for (unsigned long i = 0; i < count; i++) {
		uint32_t dst = i % 2u;
		struct uvmp_thrash_migration migration = {
		        .region = {7, 8}, .to = dst, .final_to = dst, .now_ns = now};
		struct uvmp_thrash_facts facts = {.page = asked_page,
		                                  .requester = 1u - dst,
		                                  .residents = (uint64_t)1 << dst,
		                                  .now_ns = now + 1000u};
		struct uvmp_thrash_hint hint;

		if (uvmp_thrash_migrate(&space, &block, &migration) != UVMP_OK ||
		    uvmp_thrash_decide(&space, &block, &processors, &facts, &hint) != UVMP_OK)
			exit(1);
		now += 100000u;
	}
	free(memory);
}

/* -- memory -- */

/* The oldest root leaves and is used again, whole, by another block. */
__attribute__((noinline)) void bench_root_cycle(struct uvmp_pmm *pmm, uint32_t block);
void bench_root_cycle(struct uvmp_pmm *pmm, uint32_t block)
{
	struct uvmp_pmm_eviction eviction;
	struct uvmp_chunk chunk;
	uint32_t root;
	bool found;

	if (uvmp_pmm_evict_begin(pmm, UVMP_CHUNK_USER, &root) != UVMP_OK)
		exit(1);
	do
		uvmp_pmm_evict_next(pmm, root, &eviction, &found);
	while (found);
	uvmp_pmm_evict_end(pmm, root, UVMP_CHUNK_USER, UVMP_CHUNK_2M, block, &chunk);
	uvmp_pmm_unpin(pmm, chunk);
}

/* A full GPU: every allocation of 2 MiB evicts the oldest root. */
static void evict(uint32_t roots, unsigned long count)
{
	struct uvmp_pmm_params params = {roots, 0, 6, true, true};
	size_t bytes = uvmp_pmm_size(&params);
	void *memory = malloc(bytes);
	struct uvmp_chunk chunk;
	struct uvmp_pmm *pmm;

	if (!memory || uvmp_pmm_init(&params, memory, bytes, &pmm) != UVMP_OK)
		exit(1);
	for (uint32_t i = 0; i < roots; i++) {
		uvmp_pmm_alloc(pmm, UVMP_CHUNK_USER, UVMP_CHUNK_2M, i, &chunk);
		uvmp_pmm_unpin(pmm, chunk);
	}
	for (unsigned long i = 0; i < count; i++)
		bench_root_cycle(pmm, draw(1u << 20));
	free(memory);
}

/* TBNe: the victim, the units evicted with it, and their removal from the list. */
__attribute__((noinline)) uint32_t bench_tbne(struct uvmp_evict *order, struct uvmp_tree *tree,
                                              uint32_t *unit);
uint32_t bench_tbne(struct uvmp_evict *order, struct uvmp_tree *tree, uint32_t *unit)
{
	uint32_t leaving, tree_first;

	if (uvmp_evict_victim(order, NULL, unit) != UVMP_OK)
		exit(1);
	tree_first = *unit / 32u * 32u;
	tree += *unit / 32u;
	uvmp_tree_set_leaf(tree, *unit % 32u, 0);
	uvmp_tree_recompute(tree);
	leaving = (uint32_t)1 << *unit % 32u;
	leaving |= uvmp_evict_tbn_closure(tree, ~leaving);
	for (uint32_t block = 0; block < 32u; block++) {
		if ((leaving >> block & 1u) != 0)
			uvmp_evict_remove(order, tree_first + block);
	}
	return leaving;
}

#define TREES 64u
static void tbne(unsigned long count)
{
	static struct uvmp_tree tree[TREES];
	size_t bytes = uvmp_evict_size(UVMP_EVICT_TBN, TREES * 32u);
	void *memory = malloc(bytes);
	struct uvmp_evict order;

	if (!memory || uvmp_evict_init(&order, UVMP_EVICT_TBN, TREES * 32u, memory, bytes) != UVMP_OK)
		exit(1);
	for (uint32_t i = 0; i < TREES; i++)
		uvmp_tree_init(&tree[i], 32);
	for (unsigned long i = 0; i < count; i++) {
		uint32_t unit;

		/* half of the basic blocks are resident, in random places */
		while (order.count < TREES * 16u) {
			unit = draw(TREES * 32u);
			uvmp_evict_touch(&order, unit);
			uvmp_tree_set_leaf(&tree[unit / 32u], unit % 32u, 16);
			uvmp_tree_recompute(&tree[unit / 32u]);
		}
		bench_tbne(&order, tree, &unit);
	}
	free(memory);
}

/* The oldest of 65,536 pages leaves, another one comes. */
__attribute__((noinline)) void bench_lru_cycle(struct uvmp_evict *order);
void bench_lru_cycle(struct uvmp_evict *order)
{
	uint32_t unit;

	if (uvmp_evict_victim(order, NULL, &unit) != UVMP_OK)
		exit(1);
	uvmp_evict_remove(order, unit);
	uvmp_evict_touch(order, unit);
}

__attribute__((noinline)) void bench_lru_touch(struct uvmp_evict *order, uint32_t unit);
void bench_lru_touch(struct uvmp_evict *order, uint32_t unit)
{
	uvmp_evict_touch(order, unit);
}

static void touch(unsigned long count)
{
	size_t bytes = uvmp_evict_size(UVMP_EVICT_LRU_4K, 1u << 16);
	void *memory = malloc(bytes);
	struct uvmp_evict order;

	if (!memory || uvmp_evict_init(&order, UVMP_EVICT_LRU_4K, 1u << 16, memory, bytes) != UVMP_OK)
		exit(1);
	for (uint32_t i = 0; i < 1u << 16; i++)
		uvmp_evict_touch(&order, i);
	for (unsigned long i = 0; i < count; i++) {
		bench_lru_touch(&order, draw(1u << 16));
		bench_lru_cycle(&order);
	}
	free(memory);
}

/* -- the whole engine: one GPU whose memory is full of `resident` blocks of 2 MiB -- */

#define SPACE 1u
#define BASE  0x100000000u
/* a batch this large is served before the next faults are drawn */
#define FAULTS 64u

static struct uvmp_service *service;
static uint64_t now_ns;

static void fault_on(uint64_t page)
{
	struct uvmp_fault fault = {.address = BASE + page * 4096u,
	                           .aperture = UVMP_APERTURE_VID,
	                           .utlb = draw(64),
	                           .type = UVMP_FAULT_INVALID_PTE,
	                           .access = UVMP_ACCESS_WRITE};

	if (uvmp_service_fault(service, 1, &fault) != UVMP_OK)
		exit(1);
}

static void serve(void)
{
	struct uvmp_action action;

	now_ns += 100000;
	while (uvmp_service_next(service, now_ns, &action) == UVMP_OK)
		uvmp_service_complete(service, action.id, UVMP_OK);
}

/* The same, under a name of its own for callgrind to count in. */
__attribute__((noinline)) void bench_serve(void);
void bench_serve(void)
{
	serve();
}

static size_t engine_bytes(uint64_t managed, uint64_t memory, uint32_t resident, struct uvmp_service **engine)
{
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {
	        .size = sizeof(gpu), .memory_bytes = memory, .splits = 0, .fault_entries = 4096, .utlbs = 64};
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = 4096,
	                                     .blocks = (uint32_t)(managed / UVMP_ROOT_CHUNK_BYTES),
	                                     .spaces = 1,
	                                     .ranges = 1024,
	                                     .instances = 1,
	                                     .requests = 16};
	struct uvmp_policy policy;
	size_t bytes;

	uvmp_policy_init(&policy);
	params.policy = &policy;
	bytes = uvmp_service_size(&params, resident);
	if (engine && uvmp_service_init(&params, aligned_alloc(16, (bytes + 15u) / 16u * 16u), bytes,
	                                engine) != UVMP_OK)
		exit(1);
	return bytes;
}

static void engine(uint32_t resident, unsigned long count)
{
	uint64_t blocks = resident + resident / 8u, root = UVMP_ROOT_CHUNK_BYTES;

	engine_bytes(blocks * root, resident * root, (uint32_t)blocks, &service);
	if (uvmp_service_bind(service, 1, UVMP_APERTURE_VID, 0, 0, SPACE) != UVMP_OK ||
	    uvmp_service_add_range(service, SPACE, BASE, blocks * root, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                           UVMP_CPU) != UVMP_OK)
		exit(1);
	for (uint32_t i = 0; i < resident; i++) {
		fault_on((uint64_t)i * 512u);
		if (i % FAULTS == FAULTS - 1u || i + 1u == resident)
			serve();
	}
	for (unsigned long i = 0; i < count; i++) {
		uint64_t page;
		struct uvmp_page_state state = {.size = sizeof(state)};

		do {
			page = uvmp_random_below(&random_state, blocks * 512u);
			uvmp_service_page(service, SPACE, BASE + page * 4096u, &state);
		} while ((state.resident & 2u) != 0);
		fault_on(page);
		if (i % FAULTS == FAULTS - 1u || i + 1u == count)
			bench_serve();
	}
	free(service);
}

/* Bytes that an engine for one large GPU needs. */
static void print_arena(void)
{
	static const struct {
		const char *text;
		uint64_t managed, memory;
	} sizes[] = {
	        {"16 GiB managed, 8 GiB of GPU memory", 1ull << 34, 1ull << 33},
	        {"1 TiB managed, 141 GiB of GPU memory", 1ull << 40, 141ull << 30},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t managed = sizes[i].managed, root = UVMP_ROOT_CHUNK_BYTES;
		size_t fixed = engine_bytes(managed, sizes[i].memory, 0, NULL);
		size_t full =
		        engine_bytes(managed, sizes[i].memory, (uint32_t)(sizes[i].memory / root), NULL);
		size_t all = engine_bytes(managed, sizes[i].memory, (uint32_t)(managed / root), NULL);

		printf("arena: %s: %.1f MiB empty, %.1f MiB with the GPU full, %.1f MiB with all blocks "
		       "touched\n",
		       sizes[i].text, (double)fixed / 1048576.0, (double)full / 1048576.0,
		       (double)all / 1048576.0);
	}
}

static void print_state(void)
{
	uint64_t managed = 32ull << 30, memory = 12ull << 30, blocks = managed / UVMP_ROOT_CHUNK_BYTES;
	uint64_t bytes =
	        engine_bytes(managed, memory, (uint32_t)blocks, NULL) + blocks * sizeof(struct sim_block);

	printf("%llu\n", (unsigned long long)(bytes * 1000u / (managed / 4096u)));
}

static long long wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int measure(const char *file, char **program)
{
	long long start = wall_us(), cpu_us;
	struct rusage usage;
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (freopen(file, "w", stdout))
			execvp(program[0], program);
		_exit(1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return 1;
	cpu_us = (long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	         usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
	printf("%lld %lld %ld\n", wall_us() - start, cpu_us, usage.ru_maxrss);
	return 0;
}

static void parse(unsigned long count)
{
	static const char text[] =
	        "prefetch=density threshold=51 min_faults=1 evict=lru replay=batch_flush batch=256";
	struct uvmp_policy policy;

	for (unsigned long i = 0; i < count; i++) {
		if (uvmp_policy_parse(text, sizeof(text) - 1, &policy, NULL) != UVMP_OK)
			exit(1);
	}
}

static const struct {
	const char *name, *function;
	unsigned units; /* what one call handles: the figure is per unit */
	const char *text;
} cases[] = {
        {"density-1", "uvmp_prefetch_decide", 1,
         "density decision, 1 random fault, block of 512 pages filling up"},
        {"density-16", "uvmp_prefetch_decide", 1, "density decision, 16 random faults, block filling up"},
        {"density-64", "uvmp_prefetch_decide", 1,
         "density decision, 64 random faults, 256 random pages resident"},
        {"density-512", "uvmp_prefetch_decide", 1, "density decision, all 512 pages faulted"},
        {"density-32nd", "uvmp_prefetch_decide", 1, "density decision, every 32nd page faulted"},
        {"tbnp-1", "uvmp_prefetch_decide", 1, "TBNp decision, 1 random fault, block filling up"},
        {"tbnp-16", "uvmp_prefetch_decide", 1, "TBNp decision, 16 random faults, block filling up"},
        {"sl-1", "uvmp_prefetch_decide", 1, "64 KiB sequential-local decision, 1 random fault"},
        {"tbne", "bench_tbne", 1, "TBNe victim, its closure, both removed; 64 trees, half resident"},
        {"fetch", "uvmp_fault_fetch", BATCH, "fetched fault: batch of 256, 64 uTLBs, 64 blocks"},
        {"order", "uvmp_fault_order", BATCH, "ordered fault of the same batches"},
        {"bins", "uvmp_fault_bin_next", BATCH, "binned fault of the same batches"},
        {"batch", "bench_batch", BATCH, "fault fetched, ordered and binned, same batches"},
        {"hint-quiet", "uvmp_thrash_decide", 1,
         "thrashing hint, a page without events beside one that thrashes"},
        {"hint-thrash", "uvmp_thrash_decide", 1, "thrashing hint, the page that thrashes"},
        {"thrash-event", "uvmp_thrash_migrate", 1, "thrashing event of one page"},
        {"root-1000", "bench_root_cycle", 1, "root chunk evicted and reused, 1,000 resident roots"},
        {"root-70000", "bench_root_cycle", 1, "root chunk evicted and reused, 70,000 resident roots"},
        {"lru-touch", "bench_lru_touch", 1, "LRU 4 KiB touch among 65,536 pages"},
        {"lru-cycle", "bench_lru_cycle", 1, "LRU 4 KiB victim, removal and touch among 65,536 pages"},
        {"service-1000", "bench_serve", 1, "fault through the engine, 1,000 resident blocks, memory full"},
        {"service-70000", "bench_serve", 1, "fault through the engine, 70,000 resident blocks, memory full"},
        {"parse", "uvmp_policy_parse_size", 1, "policy string of six keys"},
};

static bool run(const char *name, unsigned long count)
{
	if (strcmp(name, "density-1") == 0)
		prefetch(UVMP_PREFETCH_DENSITY, 1, count);
	else if (strcmp(name, "density-16") == 0)
		prefetch(UVMP_PREFETCH_DENSITY, 16, count);
	else if (strcmp(name, "density-64") == 0)
		prefetch_once(0, 64, 256, count);
	else if (strcmp(name, "density-512") == 0)
		prefetch_once(1, 0, 0, count);
	else if (strcmp(name, "density-32nd") == 0)
		prefetch_once(32, 0, 0, count);
	else if (strcmp(name, "tbnp-1") == 0)
		prefetch(UVMP_PREFETCH_TBN, 1, count);
	else if (strcmp(name, "tbnp-16") == 0)
		prefetch(UVMP_PREFETCH_TBN, 16, count);
	else if (strcmp(name, "sl-1") == 0)
		prefetch(UVMP_PREFETCH_SL, 1, count);
	else if (strcmp(name, "tbne") == 0)
		tbne(count);
	else if (strcmp(name, "fetch") == 0 || strcmp(name, "order") == 0 || strcmp(name, "bins") == 0 ||
	         strcmp(name, "batch") == 0)
		batches(count);
	else if (strcmp(name, "hint-quiet") == 0)
		thrash(300, count);
	else if (strcmp(name, "hint-thrash") == 0 || strcmp(name, "thrash-event") == 0)
		thrash(7, count);
	else if (strcmp(name, "root-1000") == 0)
		evict(1000, count);
	else if (strcmp(name, "root-70000") == 0)
		evict(70000, count);
	else if (strcmp(name, "lru-touch") == 0 || strcmp(name, "lru-cycle") == 0)
		touch(count);
	else if (strcmp(name, "service-1000") == 0)
		engine(1000, count);
	else if (strcmp(name, "service-70000") == 0)
		engine(70000, count);
	else if (strcmp(name, "parse") == 0)
		parse(count);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	unsigned long count;

	if (argc == 2 && strcmp(argv[1], "arena") == 0) {
		print_arena();
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "state") == 0) {
		print_state();
		return 0;
	}
	if (argc > 3 && strcmp(argv[1], "measure") == 0)
		return measure(argv[2], argv + 3);
	if (argc != 4) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			printf("%s %s %u %s\n", cases[i].name, cases[i].function, cases[i].units,
			       cases[i].text);
		return argc == 1 ? 0 : 2;
	}
	random_state = strtoull(argv[2], NULL, 10);
	count = strtoul(argv[3], NULL, 10);
	if (!run(argv[1], count))
		return 2;
	return 0;
}
