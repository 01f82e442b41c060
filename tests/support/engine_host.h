/* A host for tests of the engine (service.h). It performs nothing, but knows what a host would know:
 *
 *   text      what was decided, one action a line as uvmp_action_print gives it, without the id and the words
 *             in `hidden` (time, after, page size; a test can hide others or none)
 *   mirror    who has which page mapped with which right, from MAP, UNMAP and REVOKE alone; compared with
 *             uvmp_service_page by engine_agrees
 *   failures  a script: the next, or the n-th, action of a kind ends with a status; of COPY and POPULATE: the n-th
 *             transfer, the others of its action are moved
 *   hook      called with each action before it is completed, to let things happen in mid-flight
 *   waiting   with is_replaying: faults that were reported and not satisfied (no access waits for prefetches); a
 *             REPLAY reports them again, a CANCEL takes them away
 *
 * Typical use:
 *
 *   engine_init(&e, 2, 4);              two GPUs of four roots; then change e.policy, e.params, ...
 *   assert_true(engine_start(&e, 16, 0));
 *   engine_range(&e, 1, base, bytes, UVMP_PROC_NONE); engine_bind(&e, 1, 1);
 *   engine_fault(&e, 1, 1, base, UVMP_ACCESS_WRITE);
 *   engine_run(&e);
 *   engine_expect(&e, "batch to=1 ...\n...");
 *   engine_stop(&e);
 *
 * Include after cmocka.h.
 */
#ifndef TESTS_ENGINE_HOST_H
#define TESTS_ENGINE_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uvmpolicy/service.h"

#define ENGINE_GPUS_MAX	    3u
#define ENGINE_PAGE	    4096u
#define ENGINE_WINDOW_PAGES 512u
#define ENGINE_WINDOWS_MAX  64u
#define ENGINE_RANGES_MAX   64u
#define ENGINE_FAILURES_MAX 16u
#define ENGINE_WAITING_MAX  4096u
#define ENGINE_TEXT_BYTES   (4u << 20)
#define ENGINE_ACTIONS_MAX  200000u /* in one engine_run: more is an engine that does not end */

/* 512 pages of an address space, of one or several blocks. */
struct engine_window {
	uint64_t space;
	uvmp_addr start;
	uint8_t right[ENGINE_GPUS_MAX + 1u][ENGINE_WINDOW_PAGES];
};

struct engine_range {
	uint64_t space, bytes;
	uvmp_addr base;
};

/* From the next one on, `skip` actions of the kind are let pass, then `count` end with `status`. */
struct engine_failure {
	uint8_t kind, from, to; /* UVMP_PROC_NONE: from or to anybody */
	uint32_t skip, count;
	enum uvmp_status status;
};

struct engine_waiting {
	uint32_t gpu;
	uint64_t space;
	struct uvmp_fault fault;
};

struct engine {
	struct uvmp_policy policy;
	struct uvmp_processors processors;
	struct uvmp_service_gpu gpu[ENGINE_GPUS_MAX];
	struct uvmp_service_params params;
	struct uvmp_service *service;
	void *memory;
	size_t bytes;
	uint64_t now_ns, step_ns; /* time advances by step_ns with each action */
	bool is_checking;	  /* uvmp_service_check after each action */
	bool is_replaying;
	const char *hidden[12];
	void (*hook)(struct engine *e, const struct uvmp_action *action);
	void *hook_data;
	struct engine_failure failure[ENGINE_FAILURES_MAX];
	uint32_t failures;
	struct engine_window *window;
	uint32_t windows;
	struct engine_range range[ENGINE_RANGES_MAX];
	uint32_t ranges;
	struct engine_waiting *waiting;
	uint32_t waitings;
	uint32_t count[UVMP_ACTION_COUNT]; /* actions of each kind, */
	uint32_t transfers[UVMP_ACTION_COUNT]; /* transfers of COPY and of POPULATE, and */
	uint32_t unreplayed[ENGINE_GPUS_MAX + 1u]; /* batches of faults of the GPU since its last REPLAY */
	struct uvmp_action last;	   /* the last one, since engine_forget */
	enum uvmp_status status;	   /* of the last DONE */
	enum uvmp_status next;		   /* of the last uvmp_service_next */
	char *text;
	size_t length;
};

/* -- setting up -- */

/* CPU and `gpus` GPUs that reach their own memory and the CPU's. Change what you like before engine_start. */
static inline void engine_init(struct engine *e, uint32_t gpus, uint32_t roots)
{
	static const char *const hidden[] = {"t=", "after=", "page_bytes="};

	memset(e, 0, sizeof(*e));
	uvmp_policy_init(&e->policy);
	e->processors.count = gpus + 1u;
	for (uint32_t p = 0; p <= gpus; p++) {
		e->processors.can_access[p] = (uint64_t)1 << p | 1u;
		e->processors.native_atomics[p] = (uint64_t)1 << p;
	}
	for (uint32_t i = 0; i < gpus; i++)
		e->gpu[i] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
		                                      .memory_bytes = (uint64_t)roots << 21,
		                                      .splits = roots,
		                                      .fault_entries = 1024,
		                                      .utlbs = 8,
		                                      .notes = 64};
	e->params = (struct uvmp_service_params){.size = sizeof(struct uvmp_service_params),
	                                         .policy = &e->policy,
	                                         .processors = &e->processors,
	                                         .gpu = e->gpu,
	                                         .page_bytes = ENGINE_PAGE,
	                                         .blocks = 64,
	                                         .spaces = 4,
	                                         .ranges = 16,
	                                         .instances = 8,
	                                         .requests = 8,
	                                         .seed = 1};
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		e->hidden[i] = hidden[i];
	e->now_ns = 1000000;
	e->is_checking = true;
}

/* Another policy, from its text; before engine_start. */
static inline bool engine_policy(struct engine *e, const char *text)
{
	return uvmp_policy_parse(text, strlen(text), &e->policy, NULL) == UVMP_OK;
}

/* `extra` bytes of arena beyond those for `resident` blocks. */
static inline bool engine_start(struct engine *e, uint32_t resident, size_t extra)
{
	e->bytes = (uvmp_service_size(&e->params, resident) + extra + 15u) / 16u * 16u;
	e->memory = aligned_alloc(16, e->bytes);
	e->text = calloc(1, ENGINE_TEXT_BYTES);
	e->window = calloc(ENGINE_WINDOWS_MAX, sizeof(*e->window));
	e->waiting = calloc(ENGINE_WAITING_MAX, sizeof(*e->waiting));
	return uvmp_service_init(&e->params, e->memory, e->bytes, &e->service) == UVMP_OK;
}

static inline void engine_stop(struct engine *e)
{
	free(e->memory);
	free(e->text);
	free(e->window);
	free(e->waiting);
}

/* -- the mirror -- */

static inline struct engine_window *engine_window_of(struct engine *e, uint64_t space, uvmp_addr address)
{
	uvmp_addr start = address & ~(uvmp_addr)(ENGINE_WINDOW_PAGES * ENGINE_PAGE - 1u);
	uint32_t i = 0;

	while (i < e->windows && (e->window[i].space != space || e->window[i].start != start))
		i++;
	assert_true(i < ENGINE_WINDOWS_MAX);
	if (i == e->windows) {
		e->windows++;
		e->window[i].space = space;
		e->window[i].start = start;
	}
	return &e->window[i];
}

static inline uint8_t *engine_right(struct engine *e, uint32_t proc, uint64_t space, uvmp_addr address)
{
	struct engine_window *w = engine_window_of(e, space, address);

	return &w->right[proc][(address - w->start) / ENGINE_PAGE];
}

/* MAP, UNMAP, REVOKE; the mirror holds a page of 64 KiB as sixteen of 4 KiB. */
static inline void engine_perform(struct engine *e, const struct uvmp_action *a)
{
	uint32_t small;

	if (a->kind != UVMP_ACTION_MAP && a->kind != UVMP_ACTION_UNMAP && a->kind != UVMP_ACTION_REVOKE)
		return;
	assert_int_equal(a->page_bytes, e->params.page_bytes);
	small = a->page_bytes / ENGINE_PAGE;
	for (uint32_t page = 0; page < UVMP_MASK_BITS; page++) {
		for (uint32_t i = 0; uvmp_mask_test(&a->pages, page) && i < small; i++)
			*engine_right(e, a->to, a->space,
			              a->address + ((uint64_t)page * small + i) * ENGINE_PAGE) =
			        a->kind == UVMP_ACTION_UNMAP ? (uint8_t)UVMP_RIGHT_NONE : a->right;
	}
}

/* Does the engine agree with the host on this page's mappings, and on a page without residency? */
static inline bool engine_page_agrees(struct engine *e, uint64_t space, uvmp_addr address)
{
	uint64_t right[3] = {0, 0, 0};
	struct uvmp_page_state state = {.size = sizeof(state)};

	for (uint32_t proc = 0; proc < e->processors.count; proc++)
		for (uint32_t i = 0; i < *engine_right(e, proc, space, address); i++)
			right[i] |= (uint64_t)1 << proc;
	if (uvmp_service_page(e->service, space, address, &state) != UVMP_OK)
		return right[0] == 0;
	if (right[0] == state.read && right[1] == state.write && right[2] == state.atomic)
		return true;
	fprintf(stderr, "page 0x%llx: mirror %llx %llx %llx, engine %llx %llx %llx\n",
	        (unsigned long long)address, (unsigned long long)right[0], (unsigned long long)right[1],
	        (unsigned long long)right[2], (unsigned long long)state.read, (unsigned long long)state.write,
	        (unsigned long long)state.atomic);
	return false;
}

/* All pages of all ranges that were added, also of freed ones. */
static inline bool engine_agrees(struct engine *e)
{
	bool agrees = true;

	for (uint32_t i = 0; i < e->ranges && agrees; i++)
		for (uint64_t at = 0; at < e->range[i].bytes && agrees; at += ENGINE_PAGE)
			agrees = engine_page_agrees(e, e->range[i].space, e->range[i].base + at);
	return agrees && uvmp_service_check(e->service);
}

/* -- events -- */

/* A range with all rights but for `right`; home: UVMP_CPU or UVMP_PROC_NONE. */
static inline void engine_range_of(struct engine *e, uint64_t space, uvmp_addr base, uint64_t bytes,
                                   enum uvmp_right right, uint32_t home)
{
	assert_int_equal(uvmp_service_add_range(e->service, space, base, bytes, right, home), UVMP_OK);
	assert_true(e->ranges < ENGINE_RANGES_MAX);
	e->range[e->ranges++] = (struct engine_range){.space = space, .bytes = bytes, .base = base};
	for (uint64_t at = 0; home == UVMP_CPU && at < bytes; at += ENGINE_PAGE)
		*engine_right(e, UVMP_CPU, space, base + at) = (uint8_t)right;
}

static inline void engine_range(struct engine *e, uint64_t space, uvmp_addr base, uint64_t bytes,
                                uint32_t home)
{
	engine_range_of(e, space, base, bytes, UVMP_RIGHT_READ_WRITE_ATOMIC, home);
}

/* Instance blocks of tests: one per space, `space` << 12 in video memory. */
static inline uint64_t engine_instance(uint64_t space)
{
	return space << 12;
}

static inline void engine_bind(struct engine *e, uint32_t gpu, uint64_t space)
{
	assert_int_equal(
	        uvmp_service_bind(e->service, gpu, UVMP_APERTURE_VID, engine_instance(space), 0, space),
	        UVMP_OK);
}

/* What most tests begin with: ample memory, and the channels of all GPUs bound to `space`. */
static inline void engine_go(struct engine *e, uint64_t space)
{
	assert_true(engine_start(e, 32, 1 << 20));
	for (uint32_t gpu = 1; gpu < e->processors.count; gpu++)
		engine_bind(e, gpu, space);
}

/* `gpus` GPUs of `roots` roots under a policy, from its text, ready for ranges of `space`. */
static inline void engine_open(struct engine *e, const char *policy, uint32_t gpus, uint32_t roots,
                               uint64_t space)
{
	engine_init(e, gpus, roots);
	assert_true(engine_policy(e, policy));
	engine_go(e, space);
}

static inline struct uvmp_fault engine_entry(uint64_t space, uvmp_addr address, enum uvmp_access access)
{
	return (struct uvmp_fault){.address = address,
	                           .instance = engine_instance(space),
	                           .aperture = UVMP_APERTURE_VID,
	                           .type = UVMP_FAULT_INVALID_PTE,
	                           .access = (uint8_t)access};
}

static inline enum uvmp_status engine_report(struct engine *e, uint32_t gpu, uint64_t space,
                                             const struct uvmp_fault *fault)
{
	enum uvmp_status status = uvmp_service_fault(e->service, gpu, fault);

	if (status == UVMP_OK && e->is_replaying && fault->access != UVMP_ACCESS_PREFETCH) {
		assert_true(e->waitings < ENGINE_WAITING_MAX);
		e->waiting[e->waitings++] =
		        (struct engine_waiting){.gpu = gpu, .space = space, .fault = *fault};
	}
	return status;
}

static inline void engine_fault(struct engine *e, uint32_t gpu, uint64_t space, uvmp_addr address,
                                enum uvmp_access access)
{
	struct uvmp_fault fault = engine_entry(space, address, access);

	assert_int_equal(engine_report(e, gpu, space, &fault), UVMP_OK);
}

/* -- the GPU that waits -- */

static inline bool engine_is_satisfied(struct engine *e, const struct engine_waiting *w)
{
	uvmp_addr page = w->fault.address & ~(uvmp_addr)(ENGINE_PAGE - 1u);

	return *engine_right(e, w->gpu, w->space, page) >=
	       (uint8_t)uvmp_access_right((enum uvmp_access)w->fault.access);
}

/* Satisfied faults are forgotten, the others reported again. */
static inline void engine_replay(struct engine *e, uint32_t gpu)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->waitings; i++) {
		struct engine_waiting w = e->waiting[i];

		if (w.gpu == gpu && engine_is_satisfied(e, &w))
			continue;
		e->waiting[kept++] = w;
		if (w.gpu == gpu) /* a full buffer: it stays, and comes with the next replay */
			(void)uvmp_service_fault(e->service, gpu, &w.fault);
	}
	e->waitings = kept;
}

static inline void engine_cancel(struct engine *e, const struct uvmp_action *a)
{
	uvmp_addr page = a->address;
	uint32_t kept = 0;

	if (!uvmp_mask_is_empty(&a->pages))
		page += (uint64_t)uvmp_mask_next_set(&a->pages, 0) * e->params.page_bytes;
	for (uint32_t i = 0; i < e->waitings; i++) {
		const struct engine_waiting *w = &e->waiting[i];
		bool is_meant = w->gpu == a->to && w->space == a->space &&
		                (w->fault.address & ~(uvmp_addr)(e->params.page_bytes - 1u)) == page &&
		                (a->cancel_mode == UVMP_CANCEL_ALL || w->fault.access >= UVMP_ACCESS_WRITE);

		if (!is_meant)
			e->waiting[kept++] = *w;
	}
	e->waitings = kept;
}

/* -- actions -- */

static inline void engine_forget(struct engine *e)
{
	e->length = 0;
	e->text[0] = '\0';
	memset(e->count, 0, sizeof(e->count));
	memset(e->transfers, 0, sizeof(e->transfers));
	memset(&e->last, 0, sizeof(e->last));
}

static inline bool engine_is_hidden(const struct engine *e, const char *word)
{
	for (size_t i = 0; i < sizeof(e->hidden) / sizeof(e->hidden[0]) && e->hidden[i]; i++)
		if (strncmp(word, e->hidden[i], strlen(e->hidden[i])) == 0)
			return true;
	return false;
}

static inline void engine_write(struct engine *e, const struct uvmp_action *action)
{
	char text[UVMP_ACTION_TEXT_MAX], *word;

	assert_int_equal(uvmp_action_print(action, text, sizeof(text)), UVMP_OK);
	assert_true(e->length + UVMP_ACTION_TEXT_MAX < ENGINE_TEXT_BYTES);
	strtok(text, " "); /* the id */
	for (word = strtok(NULL, " "); word; word = strtok(NULL, " ")) {
		if (!engine_is_hidden(e, word))
			e->length += (size_t)sprintf(e->text + e->length, "%s ", word);
	}
	e->text[e->length - 1u] = '\n';
}

static inline enum uvmp_status engine_outcome(struct engine *e, const struct uvmp_action *a)
{
	for (uint32_t i = 0; i < e->failures; i++) {
		struct engine_failure *f = &e->failure[i];

		if (f->kind != a->kind || f->count == 0 ||
		    (f->from != UVMP_PROC_NONE && f->from != a->from) ||
		    (f->to != UVMP_PROC_NONE && f->to != a->to))
			continue;
		if (f->skip != 0) {
			f->skip--;
			continue;
		}
		f->count--;
		return f->status;
	}
	return UVMP_OK;
}

/* The transfers of a copy, each with an outcome of its own: the pages that are moved, and the first failure. */
static inline enum uvmp_status engine_move(struct engine *e, const struct uvmp_action *a, uvmp_mask *moved)
{
	enum uvmp_status first = UVMP_OK;

	for (struct uvmp_region t = uvmp_action_next_transfer(a, 0); t.end != 0;
	     t = uvmp_action_next_transfer(a, t.end)) {
		enum uvmp_status status = engine_outcome(e, a);

		if (status == UVMP_OK)
			uvmp_mask_region_set(moved, t);
		else if (first == UVMP_OK)
			first = status;
	}
	return first;
}

/* Lets actions of this kind fail, from anybody to anybody. */
static inline void engine_fail(struct engine *e, enum uvmp_action_kind kind, uint32_t skip, uint32_t count,
                               enum uvmp_status status)
{
	assert_true(e->failures < ENGINE_FAILURES_MAX);
	e->failure[e->failures++] = (struct engine_failure){.kind = (uint8_t)kind,
	                                                    .from = UVMP_PROC_NONE,
	                                                    .to = UVMP_PROC_NONE,
	                                                    .skip = skip,
	                                                    .count = count,
	                                                    .status = status};
}

/* One action is taken and written down, not completed; false: there is none. */
static inline bool engine_take(struct engine *e, struct uvmp_action *a)
{
	const struct uvmp_action *next;

	e->next = uvmp_service_next(e->service, e->now_ns, &next);
	if (e->next != UVMP_OK)
		return false;
	*a = *next;
	engine_write(e, a);
	e->count[a->kind]++;
	e->transfers[a->kind] += uvmp_action_transfers(a);
	e->last = *a;
	if (a->kind == UVMP_ACTION_DONE)
		e->status = (enum uvmp_status)a->status;
	return true;
}

/* A bottom half without failures replays after all batches of its GPU. Else warps stay stalled. */
static inline void engine_watch_replays(struct engine *e, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_BATCH && a->cause != UVMP_CAUSE_COUNTER)
		e->unreplayed[a->to]++;
	if (a->kind == UVMP_ACTION_REPLAY)
		e->unreplayed[a->to] = 0;
	if (a->kind != UVMP_ACTION_DONE || a->ticket != 0)
		return;
	if (e->failures == 0 && e->unreplayed[a->to] != 0)
		fail_msg("%u batches without a replay:\n%s", e->unreplayed[a->to], e->text);
	e->unreplayed[a->to] = 0;
}

/* The action is performed and completed. */
static inline void engine_end(struct engine *e, const struct uvmp_action *a)
{
	uvmp_mask moved = {{0}};
	enum uvmp_status status = a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE
	                                  ? engine_move(e, a, &moved)
	                                  : engine_outcome(e, a);

	engine_perform(e, a);
	engine_watch_replays(e, a);
	if (e->hook)
		e->hook(e, a);
	if (e->is_replaying && a->kind == UVMP_ACTION_CANCEL)
		engine_cancel(e, a);
	if (e->is_replaying && a->kind == UVMP_ACTION_REPLAY)
		engine_replay(e, a->to);
	assert_int_equal(uvmp_service_complete_pages(e->service, a->id, status, &moved), UVMP_OK);
	if (e->is_checking && !uvmp_service_check(e->service)) {
		fprintf(stderr, "engine not consistent after:\n%s", e->text);
		fail();
	}
	e->now_ns += e->step_ns;
}

static inline bool engine_step(struct engine *e)
{
	struct uvmp_action a;

	if (!engine_take(e, &a))
		return false;
	engine_end(e, &a);
	return true;
}

/* All that there is to do. Returns the status of the last DONE. */
static inline enum uvmp_status engine_run(struct engine *e)
{
	uint32_t actions = 0;

	e->status = UVMP_OK;
	while (engine_step(e)) {
		if (++actions == ENGINE_ACTIONS_MAX)
			fail_msg("no end");
	}
	assert_int_equal(uvmp_service_pending(e->service), 0);
	return e->status;
}

/* -- looking -- */

/* The text is exactly this; it is forgotten then. */
static inline void engine_expect(struct engine *e, const char *text)
{
	if (strcmp(e->text, text) != 0)
		fprintf(stderr, "wanted:\n%sgot:\n%s", text, e->text);
	assert_true(strcmp(e->text, text) == 0);
	engine_forget(e);
}

static inline bool engine_has(const struct engine *e, const char *text)
{
	return strstr(e->text, text) != NULL;
}

static inline struct uvmp_page_state engine_page(struct engine *e, uint64_t space, uvmp_addr address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	assert_int_equal(uvmp_service_page(e->service, space, address, &state), UVMP_OK);
	return state;
}

#endif
