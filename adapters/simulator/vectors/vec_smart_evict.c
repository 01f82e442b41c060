/* Kind "smart_evict": UVM Smart's eviction over scripts of faults, arrivals, accesses and writes.
 *
 *   case NAME policy=sl capacity=48 alloc=524288 prefetch=tbn oversub_prefetch=none reserve=0 buffer=0
 *        invalidate_clean=0                     (one line)
 *   fault pages=0 at=1
 *   => batch=0 migrate=0-15 blocks=0
 *   => cancelled=- over=0 prefetch=tbn
 *   => xfer=...
 *   tick at=4
 *   => need=1 rd=6 wr=0 free=4
 *   => evict pages=0 kind=writeback
 *   => entries=27 staged=1
 *   write at=52
 *   => write pages=1 kind=writeback dirty=0 clean=1 free=61
 *
 * The heap and its prefetchers are those of vec_heap.h; fill states and resident pages are those of
 * smart_evict.h. Every quirk is as in the original. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vec_heap.h"
#include "uvmpolicy/pressure.h"
#include "vectors/reference/smart_evict.h"

#define CAPACITY_MAX ((uint64_t)1 << 32)

static const char *const policy_names[] = {"lru4k", "lru2m", "lfu2m", "sl", "tbn", NULL};
static const enum smart_evictor policies[] = {SMART_LRU_4K, SMART_LRU_2M, SMART_LFU_2M, SMART_SL, SMART_TBN};
static const char *const prefetch_names[] = {"none", "tbn", "sl", NULL};
static const enum uvmp_prefetcher prefetchers[] = {UVMP_PREFETCH_NONE, UVMP_PREFETCH_TBN, UVMP_PREFETCH_SL};
static const char *const kind_names[] = {
        [SMART_WRITEBACK] = "writeback",
        [SMART_INVALIDATE] = "invalidate",
};

/* A page of the heap as tree and page of the tree. */
struct place {
	uint32_t tree, page;
};

/* An access that holds a page. */
struct pin {
	struct place at;
	uint64_t id;
};

struct script {
	struct heap heap;
	struct smart_evict evict;
	void *memory;
	struct uvmp_counter_tree *counter; /* [parts] */
	enum uvmp_prefetcher oversub_prefetch;
	uint32_t buffer_percent;
	bool is_over;
	uint64_t now;
	struct pin *pin;
	size_t pins;
};

/* -- the case line -- */

static void make_trees(struct script *script)
{
	struct heap *heap = &script->heap;
	uint32_t trees = (uint32_t)heap->parts + 1, pages = (uint32_t)heap->pages + 1;
	size_t bytes = smart_evict_size(trees, pages);

	script->memory = vec_grow(NULL, bytes, 1);
	script->counter = vec_grow(NULL, trees, sizeof(*script->counter));
	(void)smart_evict_init(&script->evict, SMART_LRU_4K, 0, trees, pages, script->memory, bytes);
	script->evict.counter = script->counter;
	for (uint32_t i = 0; i < heap->parts; i++) {
		uint32_t blocks = heap->part[i].pages / UVMP_BASIC_BLOCK_PAGES;

		(void)smart_evict_add_tree(&script->evict, blocks);
		(void)uvmp_counter_tree_init(&script->counter[i], blocks);
		heap->part[i].tree = &script->evict.tree[i].fill;
		heap->part[i].resident = &script->evict.tree[i].valid;
	}
}

static void close_script(void *state)
{
	struct script *script = state;

	heap_free(&script->heap);
	free(script->memory);
	free(script->counter);
	free(script->pin);
	free(script);
}

static void *open_script(struct vec_args *args, const char *case_name)
{
	struct script *script = vec_grow(NULL, 1, sizeof(*script));
	struct smart_evict *evict = &script->evict;
	enum smart_evictor policy;
	uint64_t capacity;

	(void)case_name;
	memset(script, 0, sizeof(*script));
	policy = policies[vec_choice(args, "policy", policy_names)];
	capacity = vec_number(args, "capacity", 1, CAPACITY_MAX);
	heap_take_allocations(&script->heap, args);
	make_trees(script);
	evict->evictor = policy;
	evict->total = evict->free = capacity;
	uvmp_prefetch_params_init(&script->heap.params,
	                          prefetchers[vec_choice(args, "prefetch", prefetch_names)]);
	script->oversub_prefetch = prefetchers[vec_choice(args, "oversub_prefetch", prefetch_names)];
	evict->reserve_percent = (uint32_t)vec_number(args, "reserve", 0, 100);
	script->buffer_percent = (uint32_t)vec_number(args, "buffer", 0, 100);
	evict->is_invalidation_instant = vec_flag(args, "invalidate_clean");
	if (!args->failed)
		return script;
	close_script(script);
	return NULL;
}

/* -- input and output of steps -- */

static void take_now(struct script *script, struct vec_args *args)
{
	script->now = vec_number(args, "at", 0, UINT64_MAX);
}

/* The page lies in the last part that does not begin behind it. */
static struct place place_of(const struct script *script, uint64_t page)
{
	const struct heap_part *part = script->heap.part;
	uint32_t tree = 0, end = (uint32_t)script->heap.parts;

	while (end - tree > 1) {
		uint32_t middle = tree + (end - tree) / 2;

		if (part[middle].first <= page)
			tree = middle;
		else
			end = middle;
	}
	return (struct place){tree, (uint32_t)(page - part[tree].first)};
}

/* args->failed if there is no such page. */
static struct place take_page(struct script *script, struct vec_args *args)
{
	uint64_t page;

	if (script->heap.pages == 0) {
		vec_fail(args, "page: nothing is allocated");
		return (struct place){0, 0};
	}
	page = vec_number(args, "page", 0, script->heap.pages - 1);
	return args->failed ? (struct place){0, 0} : place_of(script, page);
}

static void print_range(const struct script *script, const struct smart_range *range, struct vec_out *out)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (uint32_t p = range->pages.first; p < range->pages.end; p++)
		vec_set_add(&printer, script->heap.part[range->tree].first + p);
	vec_set_end(&printer);
}

/* -- steps -- */

static void step_layout(struct script *script, struct vec_args *args, struct vec_out *out)
{
	(void)args;
	heap_print_layout(&script->heap, out);
}

/* Withdraws what holds the page; its pages are noted. */
static void cancel(struct script *script, uint32_t tree, uint32_t page)
{
	struct smart_range range;

	(void)smart_evict_cancel(&script->evict, tree, page, script->now, &range);
	uvmp_mask_region_set(&script->heap.part[tree].moved, range.pages);
}

/* Page walks that end at a resident page. */
static void walk(struct script *script, struct heap_set set)
{
	for (uint32_t i = 0; i < script->heap.parts; i++) {
		struct heap_part *part = &script->heap.part[i];
		uvmp_mask hit;

		heap_cut_set(&set, part->first, part->pages, &hit);
		uvmp_mask_and(&hit, &hit, part->resident);
		for (uint32_t p = uvmp_mask_next_set(&hit, 0); p < UVMP_MASK_BITS;
		     p = uvmp_mask_next_set(&hit, p + 1))
			cancel(script, i, p);
	}
}

static void turn_over(struct script *script, uint64_t incoming)
{
	struct uvmp_pressure pressure = {.total_pages = script->evict.total,
	                                 .free_pages = script->evict.free,
	                                 .incoming_pages = incoming,
	                                 .buffer_percent = script->buffer_percent,
	                                 .quirks = true};

	if (script->is_over || !uvmp_pressure_is_over(&pressure))
		return;
	script->is_over = true;
	script->heap.params.prefetcher = script->oversub_prefetch;
}

static void step_fault(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct heap_set set = heap_take_set(args, "pages", script->heap.pages);
	uint64_t queued = heap_queued_pages(&script->heap);
	struct heap_report report;

	take_now(script, args);
	heap_forget_moved(&script->heap);
	if (!args->failed)
		walk(script, set);
	heap_fault(&script->heap, &set, args, &report);
	if (report.fresh_pages != 0)
		turn_over(script, queued + report.fresh_pages);
	heap_print_batch(&report, out);
	vec_printf(out, "=> cancelled=");
	heap_print_moved(&script->heap, out);
	vec_printf(out, " over=%d prefetch=%s\n", script->is_over,
	           uvmp_prefetch_name(script->heap.params.prefetcher));
	heap_print_transfers(&report, out);
	heap_report_free(&report);
	free(set.range);
}

static void step_arrive(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t count = heap_take_count(args);
	struct heap *heap = &script->heap;

	take_now(script, args);
	if (args->failed)
		return;
	heap_forget_moved(heap);
	for (; count != 0 && heap->head < heap->tail; count--, heap->head++) {
		const struct heap_transfer *transfer = &heap->queue[heap->head];
		struct heap_part *part = &heap->part[transfer->part];
		struct uvmp_region pages = transfer->group.pages;

		if (uvmp_region_pages(pages) > script->evict.free)
			break;
		for (uint32_t p = pages.first; p < pages.end; p++)
			(void)smart_evict_arrive(&script->evict, (uint32_t)transfer->part, p, script->now);
		uvmp_mask_region_set(&part->moved, pages);
		uvmp_mask_region_clear(&part->pending, pages);
	}
	vec_printf(out, "=> arrived=");
	heap_print_moved(heap, out);
	vec_printf(out, " queued=%zu free=%" PRIu64 "\n", heap->tail - heap->head, script->evict.free);
}

static void step_access(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct place at = take_page(script, args);
	bool is_write = vec_flag(args, "write");
	struct uvmp_counter_access access = {
	        .tree = at.tree, .block = at.page / UVMP_BASIC_BLOCK_PAGES, .is_write = is_write};
	bool hit;

	take_now(script, args);
	if (args->failed)
		return;
	heap_forget_moved(&script->heap);
	(void)uvmp_counter_record(script->counter, (uint32_t)script->heap.parts, &access, true);
	hit = uvmp_mask_test(&script->evict.tree[at.tree].valid, at.page);
	if (hit) {
		cancel(script, at.tree, at.page);
		if (is_write)
			uvmp_mask_set(&script->evict.tree[at.tree].dirty, at.page);
		(void)smart_evict_touch(&script->evict, at.tree, at.page, script->now);
	}
	vec_printf(out, "=> hit=%d cancelled=", hit);
	heap_print_moved(&script->heap, out);
	vec_printf(out, "\n");
}

static void print_pinned(struct script *script, struct vec_out *out)
{
	struct vec_set_printer printer;

	vec_printf(out, "=> pinned=");
	vec_set_begin(&printer, out);
	for (size_t i = 0; i < script->heap.parts; i++)
		heap_print_pages(&printer, &script->heap.part[i], &script->evict.tree[i].pinned);
	vec_set_end(&printer);
	vec_printf(out, "\n");
}

static struct pin take_pin(struct script *script, struct vec_args *args)
{
	struct place at = take_page(script, args);

	return (struct pin){at, vec_number(args, "id", 0, UINT64_MAX)};
}

static bool is_at(const struct pin *pin, struct place at)
{
	return pin->at.tree == at.tree && pin->at.page == at.page;
}

static bool is_pinned(const struct script *script, struct place at)
{
	for (size_t i = 0; i < script->pins; i++)
		if (is_at(&script->pin[i], at))
			return true;
	return false;
}

static void step_pin(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct pin pin = take_pin(script, args);

	if (args->failed)
		return;
	script->pin = vec_grow(script->pin, script->pins + 1, sizeof(*script->pin));
	script->pin[script->pins++] = pin;
	uvmp_mask_set(&script->evict.tree[pin.at.tree].pinned, pin.at.page);
	print_pinned(script, out);
}

static void step_unpin(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct pin pin = take_pin(script, args);
	size_t i = 0;

	if (args->failed)
		return;
	while (i < script->pins && (!is_at(&script->pin[i], pin.at) || script->pin[i].id != pin.id))
		i++;
	if (i < script->pins)
		script->pin[i] = script->pin[--script->pins];
	if (!is_pinned(script, pin.at)) /* another access may hold the page as well */
		uvmp_mask_clear(&script->evict.tree[pin.at.tree].pinned, pin.at.page);
	print_pinned(script, out);
}

static void evict(struct script *script, bool is_due, struct vec_out *out)
{
	const struct smart_evict *e = &script->evict;
	struct smart_choice choice = {0, 0, 0};

	if (is_due)
		(void)smart_evict_select(&script->evict, NULL, &choice);
	if (choice.ranges == 0)
		vec_printf(out, "=> evict pages=- kind=-\n");
	for (uint32_t i = e->queued - choice.ranges; i < e->queued; i++) {
		vec_printf(out, "=> evict pages=");
		print_range(script, &e->queue[i], out);
		vec_printf(out, " kind=%s\n", kind_names[e->queue[i].kind]);
	}
	vec_printf(out, "=> entries=%u staged=%u\n", e->entries, e->queued);
}

static void step_evict(struct script *script, struct vec_args *args, struct vec_out *out)
{
	take_now(script, args);
	if (!args->failed)
		evict(script, true, out);
}

static void step_tick(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct uvmp_pressure pressure = {.total_pages = script->evict.total,
	                                 .free_pages = script->evict.free,
	                                 .incoming_pages = heap_queued_pages(&script->heap),
	                                 .leaving_pages = smart_evict_leaving(&script->evict),
	                                 .buffer_percent = script->buffer_percent,
	                                 .quirks = true};
	bool is_due = uvmp_pressure_is_over(&pressure);

	take_now(script, args);
	if (args->failed)
		return;
	vec_printf(out, "=> need=%d rd=%" PRIu64 " wr=%" PRIu64 " free=%" PRIu64 "\n", is_due,
	           pressure.incoming_pages, pressure.leaving_pages, pressure.free_pages);
	evict(script, is_due, out);
}

static void step_write(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct smart_write write;

	take_now(script, args);
	if (args->failed)
		return;
	(void)smart_evict_start(&script->evict, &write);
	if (write.is_started)
		uvmp_counter_tree_round_trip(&script->counter[write.range.tree], true);
	vec_printf(out, "=> write pages=");
	print_range(script, &write.range, out);
	vec_printf(out, " kind=%s dirty=%u clean=%u free=%" PRIu64 "\n",
	           write.is_started ? kind_names[write.range.kind] : "-", write.dirty, write.clean,
	           script->evict.free);
}

static void step_written(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct smart_range none = {0, {0, 0}, SMART_WRITEBACK};

	take_now(script, args);
	if (args->failed)
		return;
	vec_printf(out, "=> written pages=");
	print_range(script, script->evict.is_writing ? &script->evict.in_flight : &none, out);
	vec_printf(out, "\n");
	(void)smart_evict_end(&script->evict);
}

static void step_order(struct script *script, struct vec_args *args, struct vec_out *out)
{
	const struct smart_evict *e = &script->evict;
	uint64_t first = vec_number(args, "first", 0, UINT64_MAX);

	take_now(script, args);
	if (args->failed)
		return;
	(void)smart_evict_order(&script->evict);
	vec_printf(out, "=> entries=%u order=%s", e->entries, e->entries == 0 || first == 0 ? "-" : "");
	for (uint32_t i = 0; i < e->entries && i < first; i++)
		vec_printf(out, "%s%" PRIu64 "+%u@%" PRIu64 "/%u/%u", i == 0 ? "" : ",",
		           script->heap.part[e->entry[i].tree].first + e->entry[i].first, e->entry[i].pages,
		           e->entry[i].cycle, e->entry[i].counter, e->entry[i].rw);
	vec_printf(out, "\n");
}

static void step_policy(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint32_t name = vec_choice(args, "name", policy_names);

	take_now(script, args);
	if (args->failed)
		return;
	(void)smart_evict_switch(&script->evict, policies[name]);
	vec_printf(out, "=> policy=%s\n", policy_names[name]);
}

static void step_show(struct script *script, struct vec_args *args, struct vec_out *out)
{
	(void)args;
	heap_print_trees(&script->heap, out);
}

static void line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const struct {
		const char *name;
		void (*step)(struct script *script, struct vec_args *args, struct vec_out *out);
	} steps[] = {
	        {"layout", step_layout}, {"fault", step_fault},     {"arrive", step_arrive},
	        {"access", step_access}, {"pin", step_pin},         {"unpin", step_unpin},
	        {"tick", step_tick},     {"evict", step_evict},     {"write", step_write},
	        {"order", step_order},   {"written", step_written}, {"policy", step_policy},
	        {"show", step_show},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(word, steps[i].name) == 0) {
			steps[i].step(state, args, out);
			return;
		}
	vec_fail(
	        args,
	        "step \"%.80s\" is not known; layout, fault, arrive, access, pin, unpin, tick, evict, write, "
	        "written, order, policy, show are accepted",
	        word);
}

const struct vec_kind vec_smart_evict = {"smart_evict", true, open_script, close_script, line};
