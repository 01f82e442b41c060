/* No write is lost: threads that read, write, copy, zero, clear, allocate, free, prefetch and advise managed
 * memory that is eight times the budget, beside a model that knows what every word must hold.
 *
 *   soak_pager [SECONDS [SEED [THREADS [BUDGET_MIB [STORE [POLICY]]]]]]      STORE: mem, zstd, map,
 * file:PATH, any
 *
 * One life of a pager follows the other, each with a policy, a page size, a number of copying threads and
 * (any) a store of its own, drawn from its seed; a life as it is printed is the first one of a run with that
 * seed. In every third life the store fails at random in the middle third of its time. With UVMP_TRACE=FILE
 * in the environment the decisions of the life in hand stand there.
 *
 * Who may write a word is fixed by its place: an area is striped by words, lines, pages or 64 KiB among the
 * threads, or belongs to one thread. Its owner knows what it holds. Others read it too, and know what it
 * holds if no thread was writing to its page meanwhile: each page counts what was begun and what was ended.
 * No two values that are written are the same, so stale, misplaced and torn words show. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/flaky_store.h"
#include "pager.h"
#include "uvmpolicy/uvmpolicy.h"

#define PAGE_WORDS    512u
#define PAGE          4096u
#define TIMES         8u /* managed memory, of budgets */
#define SHARED        5u /* areas of all threads */
#define SLOTS         2u /* areas of each thread */
#define THREADS_MOST  64u
#define STUCK_SECONDS 120u /* a thread that does nothing for so long will never do anything */
#define MIB           ((uint64_t)1 << 20)

/* What the program does to managed memory is ordered by page protection, of which ThreadSanitizer knows
 * nothing: it looks at the pager alone. */
#define UNWATCHED __attribute__((no_sanitize("thread"), noinline))

enum operation {
	RANDOM_WORDS,
	SCAN,
	SCAN_WRITE,
	COPY,
	ZERO,
	CLEAR,
	DISCARD,
	PREFETCH,
	ADVISE,
	RENEW, /* free and allocate */
	SYSTEM_CALL,
	LOOK, /* statistics */
	OPERATIONS
};
static const char *const operation_name[OPERATIONS] = {"random", "scan",  "scan-write",  "copy",
                                                       "zero",   "clear", "discard",     "prefetch",
                                                       "advise", "renew", "system-call", "look"};
static const uint32_t often[OPERATIONS] = {30, 14, 10, 12, 4, 4, 3, 6, 3, 3, 8, 2};

struct area {
	uint64_t *memory, *model; /* model NULL: no area */
	uint64_t words;
	_Atomic uint32_t *begun, *ended; /* writes, by page */
	uint32_t shift;                  /* words of a stripe, as a power of two; 63: all are one thread's */
	uint32_t owner;                  /* of these */
};

struct life;
struct thread {
	struct life *life;
	pthread_t thread;
	uint32_t number;
	uint64_t random, written;
	struct area slot[SLOTS];
	int file;
	_Atomic uint64_t done; /* operations */
	uint64_t count[OPERATIONS], verified_bytes, skipped;
};

struct life {
	uint64_t seed, budget, total;
	uint32_t threads, page_bytes, batch_threads;
	bool is_failing, serves_kernel;
	char policy[256];
	const char *store;
	struct uvmp_pager *pager;
	struct flaky_store *flaky;
	FILE *log;
	struct area shared[SHARED];
	_Atomic uint64_t hot; /* where most of the words are that threads draw, of `total` */
	struct thread thread[THREADS_MOST];
};

struct sums {
	uint64_t lives, count[OPERATIONS], operations, verified_bytes, skipped;
	uint64_t faults, write_faults, evictions, bytes_in, bytes_out, failures;
};

static atomic_bool is_over, is_bad;
static _Atomic uint64_t signals;

/* -- chance -- */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = mix(*state);
	return (*state >> 16) % below;
}

/* No other word of the life has it, and it is not 0. */
static uint64_t fresh(struct thread *t)
{
	return mix(((uint64_t)(t->number + 1u) << 48) + t->written++) | 1u;
}

/* -- words -- */

static UNWATCHED void found_bad(const struct thread *t, const struct area *area, uint64_t at,
                                uint64_t expected, uint64_t found)
{
	if (atomic_exchange(&is_bad, true))
		return;
	printf("\nLOST: life of seed %" PRIu64 ", thread %u: area %p of %" PRIu64
	       " words, shift %u, word %" PRIu64 " (page %" PRIu64 "): 0x%" PRIx64 " expected, 0x%" PRIx64
	       " found\n",
	       t->life->seed, t->number, (void *)area->memory, area->words, area->shift, at, at / PAGE_WORDS,
	       expected, found);
	fflush(stdout);
}

static void begin(struct area *area, uint64_t first, uint64_t words)
{
	for (uint64_t page = first / PAGE_WORDS; page <= (first + words - 1u) / PAGE_WORDS; page++)
		atomic_fetch_add(&area->begun[page], 1);
}

static void end(struct area *area, uint64_t first, uint64_t words)
{
	for (uint64_t page = first / PAGE_WORDS; page <= (first + words - 1u) / PAGE_WORDS; page++)
		atomic_fetch_add(&area->ended[page], 1);
}

static UNWATCHED void write_words(struct thread *t, struct area *area, uint64_t first, uint64_t words)
{
	begin(area, first, words);
	for (uint64_t i = first; i < first + words; i++) {
		uint64_t value = fresh(t);

		__atomic_store_n(&area->model[i], value, __ATOMIC_SEQ_CST);
		__atomic_store_n(&area->memory[i], value, __ATOMIC_SEQ_CST);
	}
	end(area, first, words);
}

/* Of the thread's own. */
static UNWATCHED void check_words(struct thread *t, const struct area *area, uint64_t first, uint64_t words)
{
	for (uint64_t i = first; i < first + words; i++) {
		uint64_t found = __atomic_load_n(&area->memory[i], __ATOMIC_SEQ_CST);

		if (found != area->model[i])
			found_bad(t, area, i, area->model[i], found);
	}
	t->verified_bytes += 8u * words;
}

/* Written by any thread. */
static UNWATCHED void look_at(struct thread *t, const struct area *area, uint64_t i)
{
	uint32_t ended = atomic_load(&area->ended[i / PAGE_WORDS]);
	uint64_t expected = __atomic_load_n(&area->model[i], __ATOMIC_SEQ_CST);
	uint64_t found = __atomic_load_n(&area->memory[i], __ATOMIC_SEQ_CST);

	if (atomic_load(&area->begun[i / PAGE_WORDS]) != ended) {
		t->skipped++;
		return;
	}
	if (found != expected)
		found_bad(t, area, i, expected, found);
	t->verified_bytes += 8u;
}

static UNWATCHED void copy_words(struct area *to, uint64_t at, const struct area *from, uint64_t first,
                                 uint64_t words)
{
	begin(to, at, words);
#ifdef __SANITIZE_THREAD__ /* memmove would be watched */
	for (uint64_t k = 0; k < words; k++) {
		uint64_t i = to == from && at > first ? words - 1u - k : k;
		uint64_t word = __atomic_load_n(&from->memory[first + i], __ATOMIC_RELAXED);

		__atomic_store_n(&to->memory[at + i], word, __ATOMIC_RELAXED);
	}
#else
	memmove(to->memory + at, from->memory + first, 8u * words);
#endif
	memmove(to->model + at, from->model + first, 8u * words);
	end(to, at, words);
}

static UNWATCHED void zero_words(struct area *area, uint64_t first, uint64_t words)
{
	begin(area, first, words);
#ifdef __SANITIZE_THREAD__
	for (uint64_t i = first; i < first + words; i++)
		__atomic_store_n(&area->memory[i], 0, __ATOMIC_RELAXED);
#else
	memset(area->memory + first, 0, 8u * words);
#endif
	memset(area->model + first, 0, 8u * words);
	end(area, first, words);
}

/* -- areas -- */

static bool open_area(struct area *area, struct uvmp_pager *pager, uint64_t bytes, uint32_t shift,
                      uint32_t owner)
{
	*area = (struct area){.words = bytes / 8u, .shift = shift, .owner = owner};
	area->memory = uvmp_pager_alloc(pager, bytes);
	if (!area->memory)
		return false;
	area->model = calloc(bytes / 8u, 8);
	area->begun = calloc(bytes / PAGE, sizeof(*area->begun));
	area->ended = calloc(bytes / PAGE, sizeof(*area->ended));
	if (area->model && area->begun && area->ended)
		return true;
	printf("no memory for the model\n");
	exit(2);
}

static void close_area(struct area *area, struct uvmp_pager *pager)
{
	if (uvmp_pager_free(pager, area->memory) != 0) {
		printf("\nan area could not be freed\n");
		atomic_store(&is_bad, true);
	}
	free(area->model);
	free(area->begun);
	free(area->ended);
	*area = (struct area){0};
}

struct run {
	struct area *area;
	uint64_t first, words;
};

/* Any area there is; the last of the shared ones is only read once it is written. */
static struct area *any_area(struct thread *t, bool is_own)
{
	for (;;) {
		uint64_t i = draw(&t->random, SHARED + SLOTS);
		struct area *area = i < SHARED ? &t->life->shared[i] : &t->slot[i - SHARED];

		if (area->model && !(is_own && i == SHARED - 1u))
			return area;
	}
}

/* Three of four words are near the place where all threads are. */
static uint64_t any_word(struct thread *t, const struct area *area)
{
	uint64_t window = t->life->budget / 8u / 32u;

	if (window >= area->words || draw(&t->random, 4) == 0)
		return draw(&t->random, area->words);
	return (atomic_load(&t->life->hot) % area->words + draw(&t->random, window)) % area->words;
}

/* A piece of a stripe of one's own, in whole pages if asked for; words 0: there was none. */
static struct run own_run(struct thread *t, uint64_t most, bool is_pages)
{
	struct run run = {any_area(t, true), 0, 0};
	uint64_t page = t->life->page_bytes / 8u, at = any_word(t, run.area), end = run.area->words;

	if (run.area->shift != 63u) {
		uint64_t stripe = (uint64_t)1 << run.area->shift, span = t->life->threads * stripe;
		uint64_t first = at / span * span + t->number * stripe;

		if (is_pages && stripe < page)
			return run;
		at = first + at % stripe;
		end = first + stripe < end ? first + stripe : end;
	}
	if (is_pages) {
		at = at / page * page;
		most = most < page ? page : most / page * page;
	}
	if (at >= end)
		return run;
	run.first = at;
	run.words = end - at < most ? end - at : most;
	return run;
}

/* -- what a thread does -- */

static void is_allowed(const struct thread *t, const char *what, int status)
{
	if (status == 0 || t->life->is_failing)
		return;
	if (!atomic_exchange(&is_bad, true))
		printf("\nlife of seed %" PRIu64 ", thread %u: %s: %s\n", t->life->seed, t->number, what,
		       strerror(-status));
}

static void random_words(struct thread *t)
{
	for (int i = 0; i < 64; i++) {
		struct run run = own_run(t, 1, false);
		const struct area *area = any_area(t, false);

		look_at(t, area, any_word(t, area));
		if (run.words == 0)
			continue;
		check_words(t, run.area, run.first, 1);
		if (i % 2 == 0)
			write_words(t, run.area, run.first, 1);
	}
}

static void scan(struct thread *t)
{
	const struct area *area = any_area(t, false);
	uint64_t at = any_word(t, area), step = draw(&t->random, 3) == 0 ? PAGE_WORDS + 1u : 1;
	bool is_down = draw(&t->random, 2) == 0;

	for (uint64_t i = 0; i < 16u * PAGE_WORDS && at < area->words; i += step) {
		look_at(t, area, at);
		at = is_down ? at - step : at + step; /* before the first: a very large number */
	}
}

static void scan_write(struct thread *t)
{
	struct run run = own_run(t, 64u * PAGE_WORDS, false);
	uint64_t span;

	if (run.words == 0)
		return;
	check_words(t, run.area, run.first, run.words);
	write_words(t, run.area, run.first, run.words);
	if (run.area->shift >= 12u)
		return;
	span = (uint64_t)t->life->threads << run.area->shift; /* the stripes that follow, of a few pages */
	for (uint64_t at = run.first + span; at + run.words <= run.area->words && at < run.first + 4096u;
	     at += span)
		write_words(t, run.area, at, run.words);
}

static void copy(struct thread *t)
{
	struct run from = own_run(t, 1u + draw(&t->random, 64u * PAGE_WORDS), false), to;
	uint64_t words;

	if (from.words == 0)
		return;
	to = own_run(t, from.words, false);
	words = to.words < from.words ? to.words : from.words;
	if (words == 0)
		return;
	copy_words(to.area, to.first, from.area, from.first, words);
	check_words(t, to.area, to.first, words);
}

static void zero(struct thread *t)
{
	struct run run = own_run(t, 32u * PAGE_WORDS, true);

	if (run.words != 0)
		zero_words(run.area, run.first, run.words);
}

static UNWATCHED void clear(struct thread *t)
{
	struct run run = own_run(t, 64u * PAGE_WORDS, true);

	if (run.words == 0)
		return;
	begin(run.area, run.first, run.words);
	is_allowed(t, "clear",
	           uvmp_pager_clear(t->life->pager, run.area->memory + run.first, 8u * run.words));
	memset(run.area->model + run.first, 0, 8u * run.words);
	end(run.area, run.first, run.words);
	if (draw(&t->random, 2) == 0)
		check_words(t, run.area, run.first, run.words);
}

/* Pages are as they were or zero; what is written from then on counts again. */
static UNWATCHED void discard(struct thread *t)
{
	struct run run = own_run(t, 32u * PAGE_WORDS, true);

	if (run.words == 0)
		return;
	begin(run.area, run.first, run.words);
	is_allowed(t, "discard",
	           uvmp_pager_advise(t->life->pager, run.area->memory + run.first, 8u * run.words,
	                             UVMP_PAGER_DISCARD));
	for (uint64_t i = run.first; i < run.first + run.words; i += 1u + i % 3u) {
		uint64_t found = __atomic_load_n(&run.area->memory[i], __ATOMIC_SEQ_CST);

		if (found != 0 && found != run.area->model[i])
			found_bad(t, run.area, i, run.area->model[i], found);
	}
	write_words(t, run.area, run.first, run.words);
	end(run.area, run.first, run.words);
}

static struct run any_run(struct thread *t, uint64_t most)
{
	struct run run = {any_area(t, false), 0, 0};

	run.first = any_word(t, run.area);
	run.words = 1u + draw(&t->random, most);
	if (run.words > run.area->words - run.first)
		run.words = run.area->words - run.first;
	return run;
}

static void prefetch(struct thread *t)
{
	struct run run = any_run(t, 256u * PAGE_WORDS);

	is_allowed(t, "prefetch",
	           uvmp_pager_prefetch(t->life->pager, run.area->memory + run.first, 8u * run.words,
	                               draw(&t->random, 2) == 0));
}

static void advise(struct thread *t)
{
	static const enum uvmp_pager_advice advice[] = {UVMP_PAGER_PREFER_RESIDENT, UVMP_PAGER_PREFER_STORE,
	                                                UVMP_PAGER_PREFER_NONE, UVMP_PAGER_ACCESSED_BY};
	struct run run = any_run(t, 128u * PAGE_WORDS);

	int status = uvmp_pager_advise(t->life->pager, run.area->memory + run.first, 8u * run.words,
	                               advice[draw(&t->random, 4)]);

	is_allowed(t, "advise", status == -ENOMEM ? 0 : status); /* cut up too often */
}

static bool open_slot(struct thread *t, struct area *slot)
{
	uint64_t most = t->life->total / 4u / (t->life->threads * SLOTS) / UVMP_PAGER_BLOCK_BYTES;

	return open_area(slot, t->life->pager, (1u + draw(&t->random, most + 1u)) * UVMP_PAGER_BLOCK_BYTES,
	                 63, t->number);
}

/* Memory that was in use holds zeros when it is given again. */
static void renew(struct thread *t)
{
	struct area *slot = &t->slot[draw(&t->random, SLOTS)];

	if (slot->model) {
		check_words(t, slot, 0, slot->words);
		close_area(slot, t->life->pager);
	}
	if (!open_slot(t, slot))
		return; /* no room now */
	for (uint64_t at = draw(&t->random, 64); at < slot->words; at += 64)
		check_words(t, slot, at, 1);
}

/* To a file and back to another place. The calls are made without the C library, which ThreadSanitizer
 * watches. */
static void system_call(struct thread *t)
{
	struct run from = own_run(t, 1u + draw(&t->random, 32u * PAGE_WORDS), false), to;
	uint64_t bytes;
	long done;

	if (from.words == 0 || !t->life->serves_kernel)
		return;
	to = own_run(t, from.words, false);
	bytes = 8u * (to.words < from.words ? to.words : from.words);
	if (bytes == 0)
		return;
	done = syscall(SYS_pwrite64, t->file, from.area->memory + from.first, bytes, (off_t)0);
	is_allowed(t, "pwrite of managed memory", done == (long)bytes ? 0 : done < 0 ? -errno : -EFAULT);
	if (done != (long)bytes)
		return;
	begin(to.area, to.first, bytes / 8u);
	done = syscall(SYS_pread64, t->file, to.area->memory + to.first, bytes, (off_t)0);
	is_allowed(t, "pread into managed memory", done == (long)bytes ? 0 : done < 0 ? -errno : -EFAULT);
	if (done == (long)bytes)
		memmove(to.area->model + to.first, from.area->model + from.first, bytes);
	else
		write_words(t, to.area, to.first, bytes / 8u);
	end(to.area, to.first, bytes / 8u);
	check_words(t, to.area, to.first, bytes / 8u);
}

static void look(struct thread *t)
{
	struct uvmp_pager_stats stats;
	struct area *area = any_area(t, false);

	uvmp_pager_stats(t->life->pager, &stats);
	if (uvmp_pager_usable(t->life->pager, area->memory) < 8u * area->words)
		is_allowed(t, "usable", -EINVAL);
	atomic_store(&t->life->hot, draw(&t->random, t->life->total / 8u));
}

static enum operation any_operation(struct thread *t)
{
	uint32_t sum = 0, i = 0, at;

	for (i = 0; i < OPERATIONS; i++)
		sum += often[i];
	at = (uint32_t)draw(&t->random, sum);
	for (i = 0; at >= often[i]; i++)
		at -= often[i];
	return (enum operation)i;
}

static void *live(void *context)
{
	static void (*const call[OPERATIONS])(struct thread *) = {[RANDOM_WORDS] = random_words,
	                                                          [SCAN] = scan,
	                                                          [SCAN_WRITE] = scan_write,
	                                                          [COPY] = copy,
	                                                          [ZERO] = zero,
	                                                          [CLEAR] = clear,
	                                                          [DISCARD] = discard,
	                                                          [PREFETCH] = prefetch,
	                                                          [ADVISE] = advise,
	                                                          [RENEW] = renew,
	                                                          [SYSTEM_CALL] = system_call,
	                                                          [LOOK] = look};
	struct thread *t = context;

	while (!atomic_load(&is_over) && !atomic_load(&is_bad)) {
		enum operation operation = any_operation(t);

		call[operation](t);
		t->count[operation]++;
		atomic_fetch_add(&t->done, 1);
	}
	return NULL;
}

/* -- a life -- */

static const char *const other_policy[] = {
        "prefetch=none evict=lru4k", "plan=overlapped replay=block",       "batch=1",
        "replay=once batch=7",       "prefetch=none batch=3 replay=batch", "threshold=1 evict=random4k"};
#define OTHER_POLICIES (sizeof(other_policy) / sizeof(other_policy[0]))

static bool are_policies(void)
{
	for (size_t i = 0; i < OTHER_POLICIES; i++) {
		struct uvmp_policy policy;

		if (uvmp_policy_parse(other_policy[i], strlen(other_policy[i]), &policy, NULL) == UVMP_OK)
			continue;
		printf("no policy: %s\n", other_policy[i]);
		return false;
	}
	return true;
}

static void draw_policy(struct life *life, uint64_t *random)
{
	uint32_t presets = 0;
	uint64_t i;

	while (uvmp_policy_preset_at(presets))
		presets++;
	i = draw(random, presets + OTHER_POLICIES);
	if (i < presets)
		snprintf(life->policy, sizeof(life->policy), "preset=%s",
		         uvmp_policy_preset_at((uint32_t)i)->name);
	else
		snprintf(life->policy, sizeof(life->policy), "%s", other_policy[i - presets]);
}

static int create(struct life *life, char *text, size_t text_bytes)
{
	struct uvmp_pager_config config;
	int error = 0;

	uvmp_pager_config_init(&config);
	config.budget_bytes = life->budget;
	config.managed_bytes = 2u * life->total + 64u * MIB;
	config.policy = life->policy;
	config.store = life->store;
	config.page_bytes = life->page_bytes;
	config.batch_threads = life->batch_threads;
	config.log = life->log;
	if (life->is_failing) {
		struct uvmp_pager_store *real =
		        uvmp_store_open(life->store, config.managed_bytes / PAGE, &error, text, text_bytes);

		if (!real)
			return error;
		life->flaky = flaky_store_around(real, life->seed);
		config.own_store = &life->flaky->store;
	}
	return uvmp_pager_create(&config, &life->pager, text, text_bytes);
}

/* Pages of 64 KiB go with some policies only. */
static int begin_life(struct life *life, const char *store, const char *policy, char *text, size_t text_bytes)
{
	static const char *const stores[] = {"mem", "zstd", "file:/tmp", "map"};
	uint64_t random = life->seed;
	int error;

	draw_policy(life, &random);
	if (policy)
		snprintf(life->policy, sizeof(life->policy), "%s", policy);
	life->store = store ? store : stores[draw(&random, 4)];
	life->is_failing = draw(&random, 3) == 0 && strcmp(life->store, "map") != 0;
	life->page_bytes = draw(&random, 3) == 0 ? 65536 : 4096;
	life->batch_threads = 1u + (uint32_t)draw(&random, 4);
	if (getenv("UVMP_TRACE"))
		life->log = fopen(getenv("UVMP_TRACE"), "w");
	error = create(life, text, text_bytes);
	if (error == -EINVAL && life->page_bytes != 4096) {
		life->page_bytes = 4096;
		error = create(life, text, text_bytes);
	}
	if (error != 0)
		return error;
	life->serves_kernel = uvmp_pager_serves_kernel(life->pager);
	return 0;
}

static bool fill_life(struct life *life)
{
	static const uint32_t shift[SHARED] = {0, 3, 9, 13, 9}; /* words, lines, pages, 64 KiB, pages */

	for (uint32_t i = 0; i < SHARED; i++) {
		if (!open_area(&life->shared[i], life->pager,
		               life->total * 3u / 4u / SHARED / 65536u * 65536u, shift[i], 0))
			return false;
	}
	for (uint32_t i = 0; i < life->threads; i++) {
		struct thread *t = &life->thread[i];

		t->life = life;
		t->number = i;
		t->random = mix(life->seed + 77u * (i + 1u));
		t->file = (int)syscall(SYS_memfd_create, "soak", 0u);
		for (uint32_t k = 0; k < SLOTS; k++) {
			if (!open_slot(t, &t->slot[k]))
				return false;
		}
	}
	write_words(&life->thread[0], &life->shared[SHARED - 1u], 0, life->shared[SHARED - 1u].words);
	return true;
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Status 1 at once: a thread that hangs in a fault cannot be joined. */
static void watch(const struct life *life, uint64_t done[THREADS_MOST], double since[THREADS_MOST])
{
	for (uint32_t i = 0; i < life->threads; i++) {
		uint64_t is = atomic_load(&life->thread[i].done);

		if (is != done[i])
			since[i] = now();
		done[i] = is;
		if (now() - since[i] < STUCK_SECONDS)
			continue;
		printf("\nSTUCK: life of seed %" PRIu64 ": thread %u did nothing for %u s\n", life->seed, i,
		       STUCK_SECONDS);
		fflush(stdout);
		_exit(1);
	}
}

static void progress(const struct life *life, double start, double seconds)
{
	uint64_t done = 0;

	if (!isatty(STDOUT_FILENO))
		return;
	for (uint32_t i = 0; i < life->threads; i++)
		done += atomic_load(&life->thread[i].done);
	printf("\r%5.0f of %.0f s  seed %" PRIu64 "  %" PRIu64 " operations  %s, %s\033[K", now() - start,
	       seconds, life->seed, done, life->policy, life->store);
	fflush(stdout);
}

static void wait_for(struct life *life, double start, double seconds, double life_seconds)
{
	double begun = now(), since[THREADS_MOST];
	uint64_t done[THREADS_MOST] = {0};

	for (uint32_t i = 0; i < life->threads; i++)
		since[i] = begun;
	while (now() - begun < life_seconds && !atomic_load(&is_bad)) {
		double part = (now() - begun) / life_seconds;
		uint32_t share = part > 0.33 && part < 0.67 ? 100 : 0;

		if (life->flaky) {
			atomic_store(&life->flaky->reads_fail, share);
			atomic_store(&life->flaky->writes_fail, share);
		}
		usleep(20000);
		watch(life, done, since);
		progress(life, start, seconds);
	}
	if (life->flaky) {
		atomic_store(&life->flaky->reads_fail, 0);
		atomic_store(&life->flaky->writes_fail, 0);
	}
	atomic_store(&is_over, true);
	for (uint32_t i = 0; i < life->threads; i++) { /* not before all are done: one may hang */
		while (pthread_tryjoin_np(life->thread[i].thread, NULL) == EBUSY) {
			usleep(5000);
			if (now() - begun < life_seconds + STUCK_SECONDS)
				continue;
			printf("\nSTUCK: life of seed %" PRIu64 ": thread %u does not end\n", life->seed, i);
			fflush(stdout);
			_exit(1);
		}
	}
}

static void check_life(struct life *life)
{
	struct thread *t = &life->thread[0];

	for (uint32_t i = 0; i < SHARED; i++)
		check_words(t, &life->shared[i], 0, life->shared[i].words);
	for (uint32_t i = 0; i < life->threads; i++) {
		for (uint32_t k = 0; k < SLOTS; k++) {
			struct area *slot = &life->thread[i].slot[k];

			if (slot->model)
				check_words(t, slot, 0, slot->words);
		}
	}
}

static void end_life(struct life *life, struct sums *sums)
{
	struct uvmp_pager_stats stats;

	uvmp_pager_stats(life->pager, &stats);
	for (uint32_t i = 0; i < life->threads; i++) {
		struct thread *t = &life->thread[i];

		for (uint32_t k = 0; k < OPERATIONS; k++) {
			sums->count[k] += t->count[k];
			sums->operations += t->count[k];
		}
		sums->verified_bytes += t->verified_bytes;
		sums->skipped += t->skipped;
		for (uint32_t k = 0; k < SLOTS; k++) {
			if (t->slot[k].model)
				close_area(&t->slot[k], life->pager);
		}
		close(t->file);
	}
	sums->failures += life->flaky ? atomic_load(&life->flaky->failed) : 0;
	for (uint32_t i = 0; i < SHARED; i++)
		close_area(&life->shared[i], life->pager);
	uvmp_pager_destroy(life->pager);
	if (life->log)
		fclose(life->log);
	sums->lives++;
	sums->faults += stats.faults;
	sums->write_faults += stats.write_faults;
	sums->evictions += stats.evictions;
	sums->bytes_in += stats.bytes_in;
	sums->bytes_out += stats.bytes_out;
	if (stats.resident_bytes <= stats.budget_bytes &&
	    (stats.bytes_out != 0 || strcmp(life->store, "map") == 0) &&
	    (life->is_failing || stats.store_error == 0))
		return;
	printf("\nlife of seed %" PRIu64 ": %" PRIu64 " bytes resident of %" PRIu64 ", %" PRIu64
	       " written, error of the store %d\n",
	       life->seed, stats.resident_bytes, stats.budget_bytes, stats.bytes_out, stats.store_error);
	atomic_store(&is_bad, true);
}

static void describe(const struct life *life)
{
	printf("%slife of seed %" PRIu64 ": %s, store %s%s, pages of %u, %u copying, budget %" PRIu64
	       " MiB\n",
	       isatty(STDOUT_FILENO) ? "\r\033[K" : "", life->seed, life->policy, life->store,
	       life->is_failing ? " that fails" : "", life->page_bytes, life->batch_threads,
	       life->budget / MIB);
	fflush(stdout);
}

/* A thread whose page cannot arrive retries. */
static void on_error(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

static void report(const struct sums *s, double seconds)
{
	printf("%s%" PRIu64 " lives, %.1f s: %" PRIu64 " operations, %" PRIu64 " faults, %" PRIu64
	       " first writes, %" PRIu64 " evictions, %" PRIu64 " MiB in, %" PRIu64 " MiB out, %" PRIu64
	       " MiB verified, %" PRIu64 " words written meanwhile; %" PRIu64
	       " failures of the store, %" PRIu64 " SIGBUS\n ",
	       isatty(STDOUT_FILENO) ? "\r\033[K" : "", s->lives, seconds, s->operations, s->faults,
	       s->write_faults, s->evictions, s->bytes_in / MIB, s->bytes_out / MIB, s->verified_bytes / MIB,
	       s->skipped, s->failures, atomic_load(&signals));
	for (uint32_t i = 0; i < OPERATIONS; i++)
		printf(" %s %" PRIu64, operation_name[i], s->count[i]);
	printf("\n%s\n", atomic_load(&is_bad) ? "FAIL: memory is not what was written"
	                                      : "ok: every word as it was written");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 600, start = now(),
	       each = seconds / 4 < 10 ? seconds / 4 : 10;
	uint64_t seed = argc > 2 && strcmp(argv[2], "random") != 0 ? strtoull(argv[2], NULL, 0)
	                                                           : (uint64_t)time(NULL) * 1000u;
	uint32_t threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 8;
	uint64_t budget = argc > 4 ? strtoull(argv[4], NULL, 0) : 8;
	const char *store = argc > 5 && strcmp(argv[5], "any") != 0 ? argv[5] : NULL;
	struct sigaction action = {.sa_handler = on_error, .sa_flags = SA_RESTART};
	struct sums sums = {0};

	if (threads < 1 || threads > THREADS_MOST || budget < UVMP_PAGER_BUDGET_LEAST / MIB || seconds <= 0) {
		fprintf(stderr,
		        "usage: soak_pager [SECONDS [SEED|random [1..%u THREADS [BUDGET_MIB [STORE "
		        "[POLICY]]]]]]\n",
		        THREADS_MOST);
		return 2;
	}
	if (!are_policies())
		return 1;
	sigaction(SIGBUS, &action, NULL);
	while (now() - start < seconds && !atomic_load(&is_bad)) {
		struct life *life = calloc(1, sizeof(*life));
		char text[300] = "";
		int error;

		life->seed = seed++;
		life->threads = threads;
		life->budget = budget * MIB;
		life->total = TIMES * life->budget;
		error = begin_life(life, store, argc > 6 ? argv[6] : NULL, text, sizeof(text));
		if (sums.lives == 0 && (error == -EPERM || error == -ENOSYS)) {
			printf("skipped: %s\n", text);
			return 0;
		}
		if (error != 0) {
			printf("life of seed %" PRIu64 ": %s: %s\n", life->seed, life->policy, text);
			return 1;
		}
		describe(life);
		if (!fill_life(life)) {
			printf("no managed memory\n");
			return 1;
		}
		atomic_store(&is_over, false);
		for (uint32_t i = 0; i < threads; i++)
			pthread_create(&life->thread[i].thread, NULL, live, &life->thread[i]);
		wait_for(life, start, seconds, each);
		check_life(life);
		end_life(life, &sums);
		free(life);
	}
	report(&sums, now() - start);
	return atomic_load(&is_bad) ? 1 : 0;
}
