/* Fuzzing of the engine: bytes are a machine, a policy and a host that does as it likes.
 *
 * The first bytes choose processors, policy (every key) and how little memory there is; the others are
 * events: ranges, channels, requests, faults and notes with any fields, actions completed in any order,
 * twice, with failures or by wrong ids, more arena, and a clock that jumps. After each event the engine must
 * be consistent (uvmp_service_check). Besides:
 *
 *   - ids count from 1; an action waits only for one before it of its group; it has a text
 *   - the arena is too small only while no action is outstanding, and never directly after 64 KiB more
 *   - no group fills the queue: uvmpi_queue would have to take the last entry twice
 *   - a completed action cannot be completed again, nor one that was never given
 *   - GPUs map what MAP, UNMAP and REVOKE have said
 *   - when all is done every GPU has been replayed after its last fault, and the end comes within a bound
 *   - when all ranges are freed nothing is left in the arena or on a GPU
 */
#include <stdlib.h>
#include <string.h>

#include "decisions/pmm_internal.h"
#include "support/engine_internals.h"
#include "transfers.h"

#define PAGE         4096u
#define WINDOW_PAGES 512u
#define WINDOWS      10u /* of the mirror: 8 at BASE, 2 at the end of the addresses */
#define SPACES       2u
#define BASE         ((uvmp_addr)0x40000000)
#define TOP          ((uvmp_addr)0 - 2u * UVMP_ROOT_CHUNK_BYTES)
#define RANGES       32u
#define GROWS        7u
#define ENOUGH       65536u /* bytes: they end a shortage of the arena */
#define INPUT_EVENTS_MAX   400u
#define ACTIONS_MAX  400000u /* until all is done */
#define COPY_STEPS   64u     /* until a copy fails */
#define GIVEN_MAX    UVMP_SERVICE_PENDING_MAX
#define PROCS        4u   /* whose mappings are compared */
#define CLOSELY      128u /* first actions: each is printed, each change is checked; */
#define SELDOM       32u  /* of those after them, one in so many */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct known {
	uint64_t space, bytes;
	uvmp_addr base;
};

struct host {
	const uint8_t *data;
	size_t size, at;
	struct uvmp_policy policy;
	struct uvmp_processors processors;
	struct uvmp_service_gpu gpu[UVMP_PROCS_MAX];
	struct uvmp_service_params params;
	struct uvmp_service *s;
	void *memory, *more[GROWS];
	uint32_t grows;
	bool is_short; /* the arena, when the engine was last asked for an action */
	uint64_t now_ns, sequence, actions;
	uint64_t last_id;
	uint64_t given[GIVEN_MAX]; /* ids handed out and not completed */
	uint32_t givens;
	struct known range[RANGES];
	uint32_t ranges;
	uint64_t last_fault[UVMP_PROCS_MAX], last_replay[UVMP_PROCS_MAX];
	bool has_failed; /* some action that moves nothing has failed: replays may be missing */
	bool is_told[SPACES][WINDOWS];
	uint8_t right[SPACES][WINDOWS][WINDOW_PAGES][PROCS];
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The slab of the hash table of blocks, once it has grown. */
static uint32_t table_slab(const struct uvmp_service *s)
{
	return (uint32_t)uvmpi_arena_array((uint64_t)s->buckets * sizeof(handle));
}

/* -- the bytes -- */

static uint32_t byte(struct host *h)
{
	return h->at < h->size ? h->data[h->at++] : 0;
}

static uint64_t word(struct host *h)
{
	uint64_t w = 0;

	for (uint32_t i = 0; i < 8; i++)
		w = w << 8 | byte(h);
	return w;
}

static bool one_in(struct host *h, uint32_t n)
{
	return byte(h) % n == n - 1u;
}

/* -- the machine -- */

static void draw_processors(struct host *h)
{
	struct uvmp_processors *p = &h->processors;
	uint32_t b = byte(h), kind = byte(h) % 5u;
	uint64_t all;

	p->count = b == 255u ? UVMP_PROCS_MAX : 2u + b % 3u;
	all = ~(uint64_t)0 >> (UVMP_PROCS_MAX - p->count);
	for (uint32_t a = 0; a < p->count; a++) {
		p->can_access[a] = BIT(a) | (kind == 1u ? all : 1u) | (kind == 2u && a == 0 ? all : 0);
		p->native_atomics[a] = BIT(a) | (kind == 1u ? all & ~(uint64_t)1 : 0);
		p->fast_link[a] = kind == 1u && a != 0 ? all & ~(BIT(a) | 1u) : 0;
		if (kind == 3u) {
			p->can_access[a] = BIT(a) | (word(h) & all);
			p->native_atomics[a] = BIT(a) | (word(h) & all);
			p->fast_link[a] = word(h) & all & ~BIT(a);
			p->smc[a] = a != 0 ? byte(h) & all & ~BIT(a) : 0;
		}
	}
	p->no_memory = kind == 4u ? 2u : 0;
}

static uint32_t draw_value(struct host *h, const struct uvmp_policy_key *key)
{
	uint32_t b = byte(h);

	if (key->is_choice)
		return key->min + b % (key->max - key->min + 1u);
	if (b < 16u)
		return b % 2u != 0 ? key->max : key->min;
	b = key->min + b % 13u;
	return b <= key->max ? b : key->max;
}

/* Every key of the policy, one after the other; what does not go with those before is left out. */
static void draw_policy(struct host *h)
{
	char text[2u * UVMP_POLICY_TEXT_MAX] = "", *end = text;
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};

	uvmp_policy_init(&h->policy);
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++) {
		char *at = end, digits[12];
		uint32_t value, n = 0;

		if (byte(h) % 3u == 0)
			continue;
		value = draw_value(h, key);
		at = stpcpy(stpcpy(stpcpy(at, at == text ? "" : " "), key->name), "=");
		if (key->is_choice) {
			at = stpcpy(at, uvmp_policy_choice(i, value));
		} else {
			do
				digits[n++] = (char)('0' + value % 10u);
			while ((value /= 10u) != 0);
			while (n > 0)
				*at++ = digits[--n];
			*at = '\0';
		}
		if (uvmp_policy_parse(text, (size_t)(at - text), &h->policy, NULL) == UVMP_OK)
			end = at;
		*end = '\0';
	}
}

static void draw_params(struct host *h)
{
	struct uvmp_service_params *p = &h->params;

	for (uint32_t i = 0; i + 1u < h->processors.count; i++) {
		uint32_t b = i < 3u ? byte(h) : 0, roots = 1u + b % 4u;

		h->gpu[i] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
		                                      .memory_bytes = (uint64_t)roots << 21,
		                                      .splits = b / 4u % (roots + 1u),
		                                      .fault_entries = b >= 250u ? 3000u : 2u + b % 70u,
		                                      .utlbs = 1u + b % 3u,
		                                      .notes = b % 7u,
		                                      .asks_at_misses = b % 5u == 4u,
		                                      .sms = b % 5u};
		if ((h->processors.no_memory & BIT(i + 1u)) != 0)
			h->gpu[i].memory_bytes = h->gpu[i].splits = 0;
	}
	*p = (struct uvmp_service_params){.size = sizeof(struct uvmp_service_params),
	                                  .policy = &h->policy,
	                                  .processors = &h->processors,
	                                  .gpu = h->gpu,
	                                  .page_bytes = one_in(h, 6) ? 65536u : PAGE,
	                                  .blocks = 1u + byte(h) % 16u,
	                                  .spaces = 1u + byte(h) % 3u,
	                                  .ranges = 1u + byte(h) % RANGES,
	                                  .instances = 1u + byte(h) % 6u,
	                                  .requests = 1u + byte(h) % 8u,
	                                  .has_ats = byte(h) % 2u != 0,
	                                  .seed = byte(h)};
}

/* False: the parameters do not go together. */
static bool start(struct host *h)
{
	size_t least, bytes;
	uint8_t *memory;

	draw_processors(h);
	draw_policy(h);
	draw_params(h);
	least = uvmp_service_size(&h->params, 0);
	if (least == 0)
		return false;
	bytes = least + (one_in(h, 2) ? byte(h) * 16u : byte(h) * 1024u);
	memory = h->memory = malloc(bytes);
	require(memory != NULL);
	require(uvmp_service_init(&h->params, memory, least - 1u, &h->s) == UVMP_ERR_SPACE);
	require(uvmp_service_init(&h->params, memory + 8, bytes, &h->s) == UVMP_ERR_ARGUMENT);
	require(uvmp_service_init(&h->params, memory, bytes, &h->s) == UVMP_OK);
	h->now_ns = 1000000;
	return true;
}

/* -- addresses -- */

static uvmp_addr draw_address(struct host *h, uint64_t *space)
{
	uint32_t b = byte(h);

	*space = 1u + b % SPACES;
	if (b >= 250u)
		return word(h);
	if (b % 4u != 0 && h->ranges != 0) {
		const struct known *r = &h->range[byte(h) % h->ranges];
		uint64_t page = byte(h) % 2u != 0 ? byte(h) : (uint64_t)byte(h) * 16u + b;

		*space = r->space;
		return r->base + page * PAGE % r->bytes;
	}
	return (b % 16u == 4u ? TOP : BASE) + (uint64_t)(byte(h) % 4u) * UVMP_ROOT_CHUNK_BYTES +
	       (uint64_t)byte(h) * 2u * PAGE;
}

static uint64_t draw_bytes(struct host *h)
{
	uint32_t b = byte(h);

	if (b >= 250u)
		return word(h);
	if (b % 8u == 0)
		return (uint64_t)(1u + b / 64u) * UVMP_ROOT_CHUNK_BYTES;
	return (uint64_t)(1u + b * (b % 3u + 1u)) * PAGE;
}

static uint64_t page_of(const struct host *h, uint64_t address)
{
	return address & ~(uint64_t)(h->params.page_bytes - 1u);
}

/* -- the mirror -- */

static uint64_t window_of(uvmp_addr address)
{
	if (address >= TOP)
		return 8u + ((address - TOP) >> 21);
	return address - BASE < 8u * UVMP_ROOT_CHUNK_BYTES ? (address - BASE) >> 21 : WINDOWS;
}

static uint8_t *right_of(struct host *h, uint64_t space, uvmp_addr address, uint32_t proc)
{
	uint64_t window = window_of(address);

	if (space - 1u >= SPACES || proc == UVMP_CPU || proc >= PROCS || window >= WINDOWS)
		return NULL;
	return &h->right[space - 1u][window][address / PAGE % WINDOW_PAGES][proc];
}

static void perform(struct host *h, const struct uvmp_action *a)
{
	if (a->kind != UVMP_ACTION_MAP && a->kind != UVMP_ACTION_UNMAP && a->kind != UVMP_ACTION_REVOKE)
		return;
	for (uint32_t page = uvmp_mask_next_set(&a->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&a->pages, page + 1u)) {
		uint8_t *right = right_of(h, a->space, a->address + (uint64_t)page * a->page_bytes, a->to);

		if (right == NULL)
			continue;
		h->is_told[a->space - 1u][window_of(a->address)] = true;
		require(a->kind == UVMP_ACTION_MAP || *right != UVMP_RIGHT_NONE);
		*right = a->kind == UVMP_ACTION_UNMAP ? (uint8_t)UVMP_RIGHT_NONE : a->right;
	}
}

static void compare_page(struct host *h, uint64_t space, uvmp_addr address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	(void)uvmp_service_page(h->s, space, address, &state); /* no range: no processor maps the page */
	for (uint32_t proc = 1; proc < PROCS; proc++) {
		uint64_t right =
		        (state.read >> proc & 1u) + (state.write >> proc & 1u) + (state.atomic >> proc & 1u);

		require(*right_of(h, space, address, proc) == right);
	}
}

/* Everything decided has been told. Windows of which nothing was told are looked at here and there. */
static void compare(struct host *h)
{
	for (uint32_t i = 0; i < SPACES * WINDOWS; i++) {
		uint32_t window = i % WINDOWS, step = h->is_told[i / WINDOWS][window] ? 1u : 64u;
		uvmp_addr start = window < 8u ? BASE + (uint64_t)window * UVMP_ROOT_CHUNK_BYTES
		                              : TOP + (uint64_t)(window - 8u) * UVMP_ROOT_CHUNK_BYTES;

		for (uint32_t page = 0; page < WINDOW_PAGES; page += step)
			if (page * PAGE % h->params.page_bytes == 0)
				compare_page(h, 1u + i / WINDOWS, start + (uint64_t)page * PAGE);
	}
}

/* -- actions -- */

/* A check or a printed line costs more than the decision: long inputs have them for a sample only. */
static bool is_sampled(const struct host *h)
{
	return h->actions < CLOSELY || h->actions % SELDOM == 0;
}

static bool is_copy(const struct uvmp_action *a)
{
	return a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE;
}

static void look(struct host *h, const struct uvmp_action *a)
{
	char text[UVMP_ACTION_TEXT_MAX];

	require(a->id == h->last_id + 1u && a->after < a->id);
	require(a->after == 0 || a->after >= h->s->base_id);
	require(h->s->actions < UVMP_SERVICE_PENDING_MAX - 1u);
	if (is_sampled(h)) {
		require(uvmp_action_print(a, text, sizeof(text)) == UVMP_OK);
		require(!is_copy(a) || transfers_are_right(a, (uint32_t)a->id % UVMP_MASK_BITS));
	}
	h->last_id = a->id;
	if (a->kind == UVMP_ACTION_REPLAY || a->kind == UVMP_ACTION_CANCEL)
		h->last_replay[a->to] = h->sequence;
	perform(h, a);
}

static void check(const struct host *h)
{
	struct uvmp_service_memory memory = {.size = sizeof(memory)};

	uvmp_service_memory_used(h->s, &memory);
	require(memory.used <= memory.bytes);
	require(uvmp_service_check(h->s));
}

/* The next action. Only the first one of a group changes anything. */
static bool take(struct host *h)
{
	const struct uvmp_action *a;
	enum uvmp_status status = uvmp_service_next(h->s, h->now_ns, &a);

	require(status == UVMP_OK || status == UVMP_ERR_RETRY || status == UVMP_ERR_ARENA);
	h->is_short = status == UVMP_ERR_ARENA;
	require(!h->is_short || (h->givens == 0 && uvmp_service_pending(h->s) == 0));
	require(!h->is_short || uvmp_service_wakeup_ns(h->s) == UINT64_MAX);
	if (status != UVMP_OK)
		return false;
	require(h->givens < GIVEN_MAX && ++h->actions < ACTIONS_MAX);
	look(h, a);
	h->given[h->givens++] = a->id;
	require(uvmp_service_pending(h->s) == h->givens);
	if (h->s->handed == 1u && is_sampled(h))
		check(h);
	return true;
}

static enum uvmp_status draw_status(struct host *h)
{
	static const int16_t statuses[] = {-1, -2, -3, -6, -9, -128, -1000, 5};

	return (enum uvmp_status)statuses[byte(h) % 8u];
}

/* Of each transfer of the action all pages have moved, or none. */
static void draw_transfers(struct host *h, const struct uvmp_action *a, uvmp_mask *moved)
{
	uvmp_mask_zero(moved);
	for (struct uvmp_region t = uvmp_action_next_transfer(a, 0); t.end != 0;
	     t = uvmp_action_next_transfer(a, t.end))
		if (byte(h) % 2u != 0)
			uvmp_mask_region_set(moved, t);
}

/* Pages that a failed copy has moved all the same, of the action or not: a region, some transfers, or any. */
static const uvmp_mask *draw_moved(struct host *h, const struct uvmp_action *a, uvmp_mask *moved)
{
	uint32_t first = byte(h) * 2u, pages = byte(h), form = byte(h);

	uvmp_mask_zero(moved);
	if (form % 2u == 0)
		return NULL;
	if (form % 16u == 15u)
		for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++)
			moved->word[i] = word(h);
	else if (form % 16u == 13u)
		draw_transfers(h, a, moved);
	else
		uvmp_mask_region_set(moved, (struct uvmp_region){first, first + pages});
	return moved;
}

static const struct uvmp_action *given(const struct host *h, uint32_t index)
{
	return &h->s->action[h->given[index] - h->s->base_id];
}

static void end_with(struct host *h, uint32_t index, enum uvmp_status status, const uvmp_mask *done)
{
	const struct uvmp_action *a = given(h, index);
	uint64_t id = a->id;

	if (status > UVMP_OK) {
		require(uvmp_service_complete_pages(h->s, id, status, done) == UVMP_ERR_RANGE);
		status = UVMP_OK;
	}
	if (status < 0 && !is_copy(a) && a->kind != UVMP_ACTION_ALLOCATE)
		h->has_failed = true;
	require(uvmp_service_complete_pages(h->s, id, status, done) == UVMP_OK);
	require(uvmp_service_complete(h->s, id, UVMP_OK) == UVMP_ERR_STATE);
	h->given[index] = h->given[--h->givens];
}

static void end(struct host *h, uint32_t index, enum uvmp_status status)
{
	uvmp_mask moved;

	end_with(h, index, status, draw_moved(h, given(h, index), &moved));
}

static bool grow(struct host *h, size_t bytes)
{
	uint8_t *memory;

	if (h->grows == GROWS)
		return false;
	h->more[h->grows] = malloc(bytes);
	memory = h->more[h->grows];
	require(memory != NULL);
	require(uvmp_service_grow(h->s, memory + 8, bytes) == UVMP_ERR_ARGUMENT);
	require(uvmp_service_grow(h->s, memory, 4095) == UVMP_ERR_SPACE);
	require(uvmp_service_grow(h->s, memory, bytes) == UVMP_OK);
	h->grows++;
	return true;
}

/* The next action, for a host that enlarges the arena when that is too small, as often as it can. */
static bool take_or_grow(struct host *h)
{
	if (take(h))
		return true;
	if (!h->is_short || !grow(h, ENOUGH))
		return false;
	(void)take(h);
	require(!h->is_short);
	return h->givens > 0;
}

/* Some steps of a host that does as it should, but for one action in so many. */
static void run(struct host *h, uint32_t steps, uint32_t failing)
{
	while (steps-- > 0 && take_or_grow(h)) {
		enum uvmp_status status = UVMP_OK;

		if (failing != 0 && one_in(h, failing))
			status = draw_status(h);
		end(h, h->givens - 1u, status);
	}
}

static void finish(struct host *h)
{
	while (h->givens > 0)
		end(h, 0, UVMP_OK);
	while (take_or_grow(h))
		end(h, h->givens - 1u, UVMP_OK);
	check(h);
}

/* -- events -- */

static void add_range(struct host *h)
{
	struct known r = {.bytes = draw_bytes(h)};
	uint32_t b = byte(h);
	enum uvmp_status status;

	r.base = draw_address(h, &r.space);
	if (b < 240u) {
		r.base = page_of(h, r.base);
		r.bytes = page_of(h, r.bytes + h->params.page_bytes - 1u);
	}
	status = uvmp_service_add_range(h->s, r.space, r.base, r.bytes,
	                                b < 128u ? UVMP_RIGHT_READ_WRITE_ATOMIC : (enum uvmp_right)(b % 5u),
	                                b % 3u == 0 ? UVMP_CPU : (b % 3u == 1u ? UVMP_PROC_NONE : b % 70u));
	if (status ==
	    UVMP_OK) /* of the known ones some may be gone: parts of them were freed, one after the other */
		h->range[h->ranges < RANGES ? h->ranges++ : b % RANGES] = r;
}

static void draw_part(struct host *h, uint64_t *space, uvmp_addr *base, uint64_t *bytes)
{
	*base = draw_address(h, space);
	*bytes = draw_bytes(h);
	if (byte(h) % 16u != 0) {
		*base = page_of(h, *base);
		*bytes = page_of(h, *bytes + h->params.page_bytes - 1u);
	}
}

static void request(struct host *h, uint32_t kind)
{
	uint32_t proc = byte(h) % (h->processors.count + 2u), b = byte(h);
	uint64_t space, bytes;
	uvmp_addr base;

	draw_part(h, &space, &base, &bytes);
	if (proc == h->processors.count)
		proc = UVMP_PROC_NONE;
	if (kind == 0)
		(void)uvmp_service_advise(h->s, space, base, bytes, (enum uvmp_advice)(b % 9u), proc, NULL);
	else if (kind == 1 && b < 128u)
		(void)uvmp_service_migrate(h->s, space, base, bytes, proc, NULL);
	else if (kind == 1)
		(void)uvmp_service_withdraw(h->s, space, base, bytes, proc, NULL);
	else
		(void)uvmp_service_cpu_fault(h->s, space, base, (enum uvmp_access)(b % 4u), b / 4u % 2u,
		                             NULL);
}

static void free_range(struct host *h)
{
	uint32_t index = h->ranges != 0 ? byte(h) % h->ranges : 0;
	struct known *r = &h->range[index];

	if (h->ranges == 0 || uvmp_service_free_range(h->s, r->space, r->base, NULL) != UVMP_OK)
		return;
	*r = h->range[--h->ranges];
}

static void free_part(struct host *h)
{
	uint64_t space, bytes;
	uvmp_addr base;

	draw_part(h, &space, &base, &bytes);
	(void)uvmp_service_free_part(h->s, space, base, bytes, NULL);
}

/* Channels: instance = space, so that most faults find one. */
static void fault(struct host *h)
{
	uint32_t gpu = 1u + byte(h) % 4u, b = byte(h), count = 1u + (b >= 224u ? byte(h) * 12u : b / 64u);
	uint64_t space;
	struct uvmp_fault f = {.address = draw_address(h, &space),
	                       .instance = space,
	                       .aperture = UVMP_APERTURE_VID,
	                       .access = (uint8_t)(b % 5u),
	                       .type = (uint8_t)(b % 32u == 31u ? 5u + b / 32u : b % 4u)};

	if (one_in(h, 16)) { /* anything */
		f.access = (uint8_t)byte(h);
		f.aperture = byte(h) % 16u;
		f.subcontext = byte(h) % 2u;
		f.utlb = byte(h) % 8u;
		f.type = (uint8_t)byte(h);
		f.is_filtered = f.is_fatal = true;
		f.access_mask = 0xff;
		f.num_instances = UINT32_MAX;
		f.va_space = f.gpu = UINT32_MAX;
		gpu = byte(h);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (uvmp_service_fault(h->s, gpu, &f) == UVMP_OK)
			h->last_fault[gpu] = ++h->sequence;
		if (b % 3u != 0)
			f.address += PAGE;
		if (b % 7u == 0)
			f.access = (uint8_t)((f.access + 1u) % 5u);
		f.utlb = b % 2u;
	}
}

static void note(struct host *h)
{
	uint64_t space;
	struct uvmp_note n = {.address = draw_address(h, &space),
	                      .instance = space,
	                      .aperture = UVMP_APERTURE_VID,
	                      .sub_granularity = byte(h) * 0x01010101u,
	                      .bank = byte(h),
	                      .tag = byte(h)};

	if (one_in(h, 8))
		n.aperture = byte(h) % 16u;
	(void)uvmp_service_note(h->s, byte(h) % 5u, &n);
}

static void channel(struct host *h, bool is_new)
{
	uint32_t b = byte(h), gpu = b % 5u, aperture = b >= 240u ? b % 16u : UVMP_APERTURE_VID;
	uint64_t space = 1u + b / 8u % SPACES;

	if (is_new)
		(void)uvmp_service_bind(h->s, gpu, aperture, space, b / 128u, space);
	else
		(void)uvmp_service_unbind(h->s, gpu, aperture, space, b / 128u);
}

static void pass_time(struct host *h)
{
	uint32_t b = byte(h);

	if (b < 128u)
		h->now_ns += (uint64_t)b * 5000u;
	else if (b < 192u)
		h->now_ns += (uint64_t)1 << (b - 128u);
	else if (b < 224u)
		h->now_ns -= (uint64_t)b * 1000u;
	else
		h->now_ns = b % 3u == 0 ? 0 : (b % 3u == 1u ? UINT64_MAX : uvmp_service_wakeup_ns(h->s));
}

/* A run of accesses, all to one page or each to the next; kernels and synchronisations now and then. */
static void use(struct host *h)
{
	uint32_t proc = byte(h) % 5u, b = byte(h);
	uint64_t space, kernel;
	uvmp_addr address = draw_address(h, &space);
	bool migrates;

	switch (b % 8u) {
	case 0:
		(void)uvmp_service_begin_kernel(h->s, proc, h->now_ns, &kernel);
		return;
	case 1:
		(void)uvmp_service_end_kernel(h->s, b / 8u % 8u, h->now_ns);
		return;
	case 2:
		(void)uvmp_service_synchronise(h->s, proc);
		return;
	case 3:
		(void)uvmp_service_touch(h->s, proc, space, address);
		(void)uvmp_service_hold(h->s, proc, space, address, h->now_ns + b * 4096u);
		(void)uvmp_service_miss(h->s, proc, space, address, (enum uvmp_access)(b / 32u % 5u), &migrates);
		return;
	default:
		for (uint32_t i = 0; i <= b / 8u % 16u; i++)
			(void)uvmp_service_access(h->s, proc, space, address + i * (b & 1u) * PAGE,
			                          (enum uvmp_access)(b / 32u % 5u));
	}
}

/* The next copy fails after some of its pages have moved; the actions before it succeed. */
static void fail_copy(struct host *h)
{
	bool fails = false;

	for (uint32_t steps = 0; steps < COPY_STEPS && !fails && take_or_grow(h); steps++) {
		uint32_t last = h->givens - 1u;

		fails = is_copy(given(h, last));
		if (fails)
			end(h, last, draw_status(h));
		else
			end_with(h, last, UVMP_OK, NULL);
	}
}

static void complete(struct host *h)
{
	uint32_t b = byte(h);

	if (b >= 216u && b < 240u) {
		fail_copy(h);
		return;
	}
	if (b >= 240u)
		require(uvmp_service_complete(h->s, b % 2u != 0 ? word(h) << 8 : h->last_id + 1u, UVMP_OK) ==
		        UVMP_ERR_STATE);
	else if (h->givens > 0)
		end(h, b % h->givens, b % 5u == 0 ? draw_status(h) : UVMP_OK);
}

static void event(struct host *h)
{
	uint32_t b = byte(h);

	switch (b % 24u) {
	case 0:
	case 1:
		add_range(h);
		break;
	case 2:
		if (b < 144u)
			free_range(h);
		else
			free_part(h);
		break;
	case 3:
	case 4:
	case 5:
		request(h, 0);
		break;
	case 6:
		request(h, 1);
		break;
	case 7:
	case 8:
		request(h, 2);
		break;
	case 9:
	case 10:
	case 11:
	case 12:
		fault(h);
		break;
	case 13:
		note(h);
		break;
	case 14:
		channel(h, b < 192u);
		break;
	case 15:
		use(h);
		break;
	case 16:
		for (uint32_t n = 1u + b / 24u; n > 0 && take(h); n--)
			;
		break;
	case 17:
		complete(h);
		break;
	case 18:
		run(h, 1u + b / 24u, 0);
		break;
	case 19:
		run(h, 200, 6);
		break;
	case 20:
	case 21:
		run(h, 2000, 0);
		break;
	case 22:
		(void)grow(h, 4096u + byte(h) * 64u);
		break;
	default:
		pass_time(h);
		break;
	}
	check(h);
}

/* -- the end -- */

/* Limits of 0 are accepted [driver: service-limit-zero]: such an engine replays without end, and services no
 * fault. */
static bool has_end(const struct host *h)
{
	return !h->policy.quirks ||
	       (h->policy.replay.max_batches != 0 && h->policy.replay.max_throttled != 0);
}

/* What lies lowest in its space is the lowest of its pieces, so its start is the base that frees them all. */
static void free_lowest(struct host *h)
{
	const struct range *r = &h->s->range[h->s->range_order[0]];
	uint32_t before = h->s->ranges;

	require(uvmp_service_free_range(h->s, h->s->space[r->space].id, r->start, NULL) == UVMP_OK);
	finish(h);
	require(h->is_short || h->s->ranges < before);
}

static void end_all(struct host *h)
{
	if (!has_end(h))
		return;
	finish(h);
	if (h->is_short) /* no more arena: the engine waits, rightly */
		return;
	compare(h);
	for (uint32_t gpu = 1; gpu < h->processors.count && !h->has_failed; gpu++)
		require(h->last_replay[gpu] >= h->last_fault[gpu]);
	while (h->s->ranges > 0) {
		free_lowest(h);
		if (h->is_short)
			return;
	}
	compare(h);
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++) /* a hash table that has grown stays */
		require(h->s->live[slab] == (h->s->bucket_array != 0 && slab == table_slab(h->s)));
	for (uint32_t gpu = 1; gpu < h->processors.count; gpu++) {
		const struct gpu *g = &h->s->gpu[gpu];

		require(g->used_pages == 0 && (g->pmm == NULL || g->pmm->allocated_pages == 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host h;

	memset(&h, 0, sizeof(h));
	h.data = data;
	h.size = size;
	if (start(&h)) {
		for (uint32_t i = 0; i < INPUT_EVENTS_MAX && h.at < h.size; i++)
			event(&h);
		end_all(&h);
	}
	free(h.memory);
	for (uint32_t i = 0; i < h.grows; i++)
		free(h.more[i]);
	return 0;
}
