/* Both answers see every action of the log once. The story asks which of the action's pages are meant, and
 * tells what became of them in one sentence. The summary keeps a record of every block, found by hashing,
 * with the counts of its line and what is needed to see that a page bounces or is pinned anew.
 *
 * Why a page was prefetched is not in its own action: the prefetcher takes a whole subtree of big pages when
 * enough of it is set. So the story mirrors, for the blocks around its pages, who holds what, and tells a
 * copy only when all copies of its step are read. Then the subtree is the largest one around the page that is
 * wholly there. The mirror may be wrong (a log that begins in the middle, a copy that failed); where it does
 * not agree with the counts of the action, those are told instead. */
#include "explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "uvmpolicy/fault.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

#define PAGE_BYTES_USUAL 4096u
#define BLOCKS_SHOWN     10u
#define QUOTE_MAX        40
#define BIG_PAGE_BYTES   65536u
#define WINDOW_BYTES     2097152u
#define KEPT_MAX         UVMP_SERVICE_PENDING_MAX /* a group has no more actions */

/* What happened to pages, counted in pages. */
struct tally {
	uint64_t came[UVMP_CAUSE_COUNT];
	uint64_t left, bounces, throttles, pins;
};

/* What a processor has of a block. */
struct place {
	struct place *next;
	uvmp_mask holds;
	uvmp_mask maps;   /* of the pages it holds */
	uvmp_mask before; /* what it held before the copies of step number `step` */
	uint64_t step;
	uint32_t processor;
};

struct block {
	uint64_t space, address;
	struct tally tally;
	uvmp_mask pinned;
	uint8_t gone_from[UVMP_MASK_BITS]; /* processor from which the page went last, UVMP_PROC_NONE: it
	                                      never did */
	/* for the story */
	struct place *place;
	uint32_t extent;   /* pages up to the last one that the log has named; the block may be longer */
	uvmp_mask faulted; /* in step number `step` */
	uint64_t step;
};

/* A copy that waits for the others of its step. */
struct kept {
	struct uvmp_action action;
	uvmp_mask pages;
	uint64_t end_ns; /* the action completed then; 0: not known */
};

/* What was fetched with the prefetched pages: big pages in which others faulted, or a subtree of which enough
 * was set. */
struct subtree {
	uint32_t own; /* big pages that came for a fault of their own; 0: a subtree, namely: */
	uint64_t address, bytes;
	uint32_t set, big_pages; /* big pages: with a page that faulted or was there, and all */
};

struct explanation {
	const struct explain_query *query;
	FILE *out;
	struct tally tally;

	/* story */
	uvmp_mask pinned;
	bool has_told;
	uint64_t space;    /* of the first action told */
	uint64_t step;     /* copies of one group are a step; they are numbered from 1 */
	struct kept *kept; /* [KEPT_MAX] */
	size_t kept_count;

	/* summary, and the blocks of the story */
	struct block *block;
	uint32_t *slot; /* number of the block plus 1; 0: free */
	size_t blocks, room, slots;
	uint64_t kinds[UVMP_ACTION_COUNT];
	struct {
		uint64_t copies, pages, bytes, zeroed;
	} cause[UVMP_CAUSE_COUNT];
};

static uint32_t page_bytes(const struct uvmp_action *action)
{
	return action->page_bytes != 0 ? action->page_bytes : PAGE_BYTES_USUAL;
}

static bool is_eviction(const struct uvmp_action *action)
{
	return action->cause == UVMP_CAUSE_EVICTION;
}

/* Does it begin the time in which its pages are pinned, if they are not yet? */
static bool is_pinning(const struct uvmp_action *action)
{
	return action->cause == UVMP_CAUSE_PIN &&
	       (action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE ||
	        action->kind == UVMP_ACTION_MAP);
}

/* Counts what an action does to `pages`, some of its own. */
static void count_pages(struct tally *tally, uvmp_mask *pinned, const struct uvmp_action *action,
                        const uvmp_mask *pages)
{
	uint32_t weight = uvmp_mask_weight(pages);
	uvmp_mask fresh;

	if (action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE) {
		if (is_eviction(action))
			tally->left += weight;
		else
			tally->came[action->cause] += weight;
	}
	if (action->kind == UVMP_ACTION_DISCARD && is_eviction(action))
		tally->left += weight;
	if (action->kind == UVMP_ACTION_THROTTLE)
		tally->throttles += weight;
	if (action->kind == UVMP_ACTION_UNPIN)
		uvmp_mask_andnot(pinned, pinned, pages);
	if (is_pinning(action)) {
		uvmp_mask_andnot(&fresh, pages, pinned);
		tally->pins += uvmp_mask_weight(&fresh);
		uvmp_mask_or(pinned, pinned, pages);
	}
}

/* -- blocks -- */

static size_t hash(uint64_t space, uint64_t address)
{
	uint64_t state = address ^ space * 0x9e3779b97f4a7c15u;

	return (size_t)uvmp_random_next(&state);
}

static void add_slot(struct explanation *explanation, size_t index)
{
	const struct block *block = &explanation->block[index];
	size_t at = hash(block->space, block->address);

	while (explanation->slot[at % explanation->slots] != 0)
		at++;
	explanation->slot[at % explanation->slots] = (uint32_t)index + 1;
}

/* Room for one block more, and at least as many slots again free. */
static bool make_room(struct explanation *explanation)
{
	size_t room = explanation->room != 0 ? 2 * explanation->room : 64;
	struct block *block;

	if (explanation->blocks < explanation->room)
		return true;
	block = room < UINT32_MAX ? realloc(explanation->block, room * sizeof(*block)) : NULL;
	if (block == NULL)
		return false;
	explanation->block = block;
	free(explanation->slot);
	explanation->slots = 2 * room;
	explanation->slot = calloc(explanation->slots, sizeof(*explanation->slot));
	if (explanation->slot == NULL)
		return false;
	explanation->room = room;
	for (size_t i = 0; i < explanation->blocks; i++)
		add_slot(explanation, i);
	return true;
}

/* NULL: there is none. */
static struct block *look_up(const struct explanation *explanation, uint64_t space, uint64_t address)
{
	if (explanation->slots == 0)
		return NULL;
	for (size_t at = hash(space, address);; at++) {
		uint32_t number = explanation->slot[at % explanation->slots];
		struct block *block;

		if (number == 0)
			return NULL;
		block = &explanation->block[number - 1];
		if (block->space == space && block->address == address)
			return block;
	}
}

/* NULL: no memory. */
static struct block *find_block(struct explanation *explanation, uint64_t space, uint64_t address)
{
	struct block *block = look_up(explanation, space, address);

	if (block != NULL)
		return block;
	if (!make_room(explanation))
		return NULL;
	block = &explanation->block[explanation->blocks];
	memset(block, 0, sizeof(*block));
	memset(block->gone_from, UVMP_PROC_NONE, sizeof(block->gone_from));
	block->space = space;
	block->address = address;
	add_slot(explanation, explanation->blocks++);
	return block;
}

/* -- who holds what, for the story -- */

/* Before the log says anything, the CPU has all and maps it, as after initialisation. */
static void reset_pages(struct place *place, const uvmp_mask *pages)
{
	bool has = place->processor == UVMP_CPU;

	uvmp_mask_andnot(&place->holds, &place->holds, pages);
	uvmp_mask_andnot(&place->maps, &place->maps, pages);
	if (has)
		uvmp_mask_or(&place->holds, &place->holds, pages);
	if (has)
		uvmp_mask_or(&place->maps, &place->maps, pages);
}

static void reset_place(struct place *place)
{
	uvmp_mask all;

	uvmp_mask_zero(&all);
	uvmp_mask_region_set(&all, (struct uvmp_region){0, UVMP_MASK_BITS});
	reset_pages(place, &all);
	place->step = 0;
}

/* NULL: no memory. */
static struct place *find_place(struct block *block, uint32_t processor)
{
	struct place *place = block->place;

	while (place != NULL && place->processor != processor)
		place = place->next;
	if (place != NULL)
		return place;
	place = malloc(sizeof(*place));
	if (place == NULL)
		return NULL;
	place->processor = processor;
	reset_place(place);
	place->next = block->place;
	block->place = place;
	return place;
}

static void free_places(struct block *block)
{
	while (block->place != NULL) {
		struct place *next = block->place->next;

		free(block->place);
		block->place = next;
	}
}

/* The last `detail` pages of the run faulted. */
static void add_faulted(struct block *block, const struct uvmp_action *action, uint64_t step)
{
	struct uvmp_region run = uvmp_mask_hull(&action->pages);

	if (block->step != step)
		uvmp_mask_zero(&block->faulted);
	block->step = step;
	if (action->detail < uvmp_region_pages(run))
		run.first = run.outer - action->detail;
	uvmp_mask_region_set(&block->faulted, run);
}

/* COPY, POPULATE. A move takes all mappings before, so who still maps its own copy keeps it: a duplicate. */
static void come(struct block *block, struct place *to, const struct uvmp_action *action, uint64_t step)
{
	uvmp_mask gone = action->pages;

	if (to->step != step)
		to->before = to->holds;
	to->step = step;
	uvmp_mask_or(&to->holds, &to->holds, &action->pages);
	for (struct place *place = block->place; place != NULL; place = place->next) {
		if (place == to)
			continue;
		if (action->kind == UVMP_ACTION_POPULATE) /* nobody has them */
			uvmp_mask_andnot(&place->maps, &place->maps, &action->pages);
		uvmp_mask_andnot(&gone, &action->pages, &place->maps);
		uvmp_mask_andnot(&place->holds, &place->holds, &gone);
	}
	if (!is_eviction(action))
		add_faulted(block, action, step);
}

/* EVICT: duplicates on other GPUs are given up with what `from` has. */
static void leave(struct block *block, struct place *from, const uvmp_mask *pages)
{
	uvmp_mask gone;

	uvmp_mask_and(&gone, &from->holds, pages);
	for (struct place *place = block->place; place != NULL; place = place->next) {
		if (place->processor == UVMP_CPU)
			continue;
		uvmp_mask_andnot(&place->holds, &place->holds, &gone);
		uvmp_mask_andnot(&place->maps, &place->maps, &gone);
	}
}

/* MAP: `pages` are on `from`. */
static void show(struct place *from, struct place *to, const uvmp_mask *pages)
{
	uvmp_mask_or(&from->holds, &from->holds, pages);
	if (from == to)
		uvmp_mask_or(&to->maps, &to->maps, pages);
	else
		uvmp_mask_andnot(&to->maps, &to->maps, pages);
}

static bool is_on_gpus(const struct block *block)
{
	for (const struct place *place = block->place; place != NULL; place = place->next) {
		if (place->processor != UVMP_CPU && !uvmp_mask_is_empty(&place->holds))
			return true;
	}
	return false;
}

/* The program has freed pages. A block of which some stay ends where they begin. */
static void forget_pages(struct block *block, const uvmp_mask *pages)
{
	uint32_t first = uvmp_mask_hull(pages).first;

	if (first < block->extent)
		block->extent = first;
	for (struct place *place = block->place; place != NULL; place = place->next)
		reset_pages(place, pages);
}

/* A processor gives memory back; the last one that does when the block is freed, or when it was cut, after
 * all its pages were named: only the next allocation says what it is then. */
static void forget_memory(struct block *block, const struct uvmp_action *action)
{
	for (struct place *place = block->place; place != NULL; place = place->next) {
		if (place->processor == action->from)
			reset_pages(place, &action->pages);
	}
	if (!is_on_gpus(block))
		block->extent = 0;
}

static void apply(struct block *block, struct place *from, struct place *to, const struct uvmp_action *action,
                  uint64_t step)
{
	switch ((enum uvmp_action_kind)action->kind) {
	case UVMP_ACTION_COPY:
	case UVMP_ACTION_POPULATE:
		if (to != NULL)
			come(block, to, action, step);
		return;
	case UVMP_ACTION_EVICT:
		if (from != NULL)
			leave(block, from, &action->pages);
		return;
	case UVMP_ACTION_MAP:
		if (from != NULL && to != NULL)
			show(from, to, &action->pages);
		return;
	case UVMP_ACTION_UNMAP: /* who holds the pages and loses them loses the copy too */
		if (to == NULL)
			return;
		uvmp_mask_andnot(&to->holds, &to->holds, &action->pages);
		uvmp_mask_andnot(&to->maps, &to->maps, &action->pages);
		return;
	case UVMP_ACTION_REVOKE:
		if (to != NULL && action->right == UVMP_PROT_NONE)
			uvmp_mask_andnot(&to->maps, &to->maps, &action->pages);
		return;
	default: /* what is discarded stays until it is evicted */
		return;
	}
}

/* Can it concern a block that holds bytes of the story? */
static bool is_near(const struct explain_query *query, const struct uvmp_action *action)
{
	return !uvmp_mask_is_empty(&action->pages) && query->last >= action->address &&
	       query->first <= (action->address | (WINDOW_BYTES - 1));
}

/* False: no memory. */
static bool mirror(struct explanation *explanation, const struct uvmp_action *action)
{
	struct block *block = find_block(explanation, action->space, action->address);
	uint32_t outer = uvmp_mask_hull(&action->pages).outer;
	struct place *from = NULL, *to = NULL;

	if (block == NULL)
		return false;
	if (action->cause == UVMP_CAUSE_FREE) {
		if (action->kind == UVMP_ACTION_FREE)
			forget_memory(block, action);
		else
			forget_pages(block, &action->pages);
		return true;
	}
	if (outer > block->extent)
		block->extent = outer;
	/* The CPU is there from the beginning: what it had leaves it. */
	if (find_place(block, UVMP_CPU) == NULL)
		return false;
	if (action->from < UVMP_PROC_NONE && (from = find_place(block, action->from)) == NULL)
		return false;
	if (action->to < UVMP_PROC_NONE && (to = find_place(block, action->to)) == NULL)
		return false;
	apply(block, from, to, action, explanation->step);
	return true;
}

/* -- subtrees -- */

/* What is needed to find the subtree of a prefetched page. Leaves are pages too, but counted from the
 * big-page boundary at or before the block's start, where the trees of the prefetchers begin. */
struct forest {
	const struct uvmp_action *action;
	const struct block *block;
	const struct place *place; /* where the page came to */
	uvmp_mask set;             /* faulted or there before */
	uint32_t padding;          /* leaves before page 0 */
	uint32_t big;              /* pages of a big page */
	bool has_hidden;           /* some of those that faulted were there before */
};

struct node {
	struct uvmp_region pages;
	uint32_t set, big_pages; /* as in struct subtree */
	uint32_t nominal;        /* big pages, if the block goes on */
};

/* False: the mirror and the action do not agree. */
static bool plant(const struct explanation *explanation, const struct uvmp_action *action,
                  struct forest *forest)
{
	const struct block *block = look_up(explanation, action->space, action->address);
	const struct place *place = block != NULL ? block->place : NULL;
	struct uvmp_region all = {0, block != NULL ? block->extent : 0};
	uint32_t bytes = page_bytes(action), faulted;

	while (place != NULL && place->processor != action->to)
		place = place->next;
	if (action->cause != UVMP_CAUSE_PREFETCH || place == NULL || place->step != explanation->step)
		return false;
	if (bytes < PAGE_BYTES_USUAL || bytes > BIG_PAGE_BYTES || (bytes & (bytes - 1)) != 0)
		return false;
	faulted = uvmp_mask_weight(&block->faulted);
	if (uvmp_mask_region_weight(&place->before, all) != action->present || faulted > action->faulted)
		return false;
	forest->action = action;
	forest->block = block;
	forest->place = place;
	uvmp_mask_or(&forest->set, &block->faulted, &place->before);
	forest->padding = (uint32_t)(action->address % BIG_PAGE_BYTES) / bytes;
	forest->big = BIG_PAGE_BYTES / bytes;
	forest->has_hidden = faulted < action->faulted;
	return true;
}

/* The block's pages below [leaf, outer). */
static struct uvmp_region pages_below(const struct forest *forest, uint32_t leaf, uint32_t outer)
{
	struct uvmp_region pages = {0, outer > forest->padding ? outer - forest->padding : 0};

	if (leaf > forest->padding)
		pages.first = leaf - forest->padding;
	if (pages.outer > forest->block->extent)
		pages.outer = forest->block->extent;
	return pages;
}

/* The node of `leaves` leaves from `leaf` on. */
static struct node node_at(const struct forest *forest, uint32_t leaf, uint32_t leaves)
{
	struct node node = {.pages = pages_below(forest, leaf, leaf + leaves),
	                    .nominal = leaves / forest->big};

	for (uint32_t i = 0; i < node.nominal; i++) {
		struct uvmp_region part =
		        pages_below(forest, leaf + i * forest->big, leaf + (i + 1) * forest->big);

		node.big_pages += !uvmp_region_is_empty(part);
		node.set += uvmp_mask_region_any(&forest->set, part);
	}
	return node;
}

/* Can it have been fetched as a whole? All of it is there, and something in it faulted. */
static bool is_fetched(const struct forest *forest, const struct node *node)
{
	struct uvmp_region pages = node->pages;

	/* [driver: padding-clamp]: a node that begins in the padding leaves out as many of its pages. */
	if (pages.first == 0 && forest->padding < pages.outer)
		pages.first = forest->padding;
	if (!uvmp_mask_region_all(&forest->place->holds, pages))
		return false;
	return uvmp_mask_region_any(&forest->block->faulted, node->pages) ||
	       (forest->has_hidden && uvmp_mask_region_any(&forest->place->before, node->pages));
}

/* The largest such node that has all of `pages`.
 *
 * The log does not say where a block ends that is not backed as a whole. Is there nothing behind the extent,
 * or only nothing that was ever used? A node that reaches beyond is taken if its big pages were a majority in
 * either case; if only without those behind the extent, then only if no node within it has a majority. */
static bool find_node(const struct forest *forest, struct uvmp_region pages, struct node *found)
{
	uint32_t outer = forest->block->extent + forest->padding, leaf = pages.first + forest->padding,
	         size = 1;
	bool has_found = false;

	while (size < outer)
		size *= 2;
	if (size < forest->big)
		size = forest->big;
	for (; size >= forest->big; size /= 2) {
		uint32_t first = leaf - leaf % size;
		struct node node;
		bool is_whole;

		if (first + size < pages.outer + forest->padding)
			break;
		if (size > forest->big && first + size / 2 >= outer) /* has no pages but those of its half */
			continue;
		node = node_at(forest, first, size);
		if (!is_fetched(forest, &node))
			continue;
		is_whole = first + size <= outer;
		if (2 * node.set > node.nominal || (is_whole && !has_found)) {
			*found = node;
			return true;
		}
		if (is_whole)
			break;
		if (!has_found && 2 * node.set > node.big_pages) {
			*found = node;
			has_found = true;
		}
	}
	return has_found;
}

/* The big pages of `pages`, if each of them can have been fetched by itself, because it faulted; else 0. */
static uint32_t big_pages_fetched(const struct forest *forest, struct uvmp_region pages)
{
	uint32_t leaf = pages.first + forest->padding, outer = pages.outer + forest->padding, count = 0;

	for (leaf -= leaf % forest->big; leaf < outer; leaf += forest->big) {
		struct node node = node_at(forest, leaf, forest->big);

		if (!is_fetched(forest, &node))
			return 0;
		count++;
	}
	return count;
}

/* What has brought these pages of the action? Where all big pages of the subtree were set, their own would
 * have come without it. False: that is not known. */
static bool find_subtree(const struct explanation *explanation, const struct uvmp_action *action,
                         const uvmp_mask *pages, struct subtree *subtree)
{
	struct uvmp_region hull = uvmp_mask_hull(pages);
	struct forest forest;
	struct node node = {0};
	bool has_node;

	if (!plant(explanation, action, &forest))
		return false;
	*subtree = (struct subtree){0};
	has_node = find_node(&forest, hull, &node);
	if (!has_node || node.set == node.big_pages)
		subtree->own = big_pages_fetched(&forest, hull);
	if (!has_node || subtree->own > 0)
		return subtree->own > 0;
	subtree->address = action->address + (uint64_t)node.pages.first * page_bytes(action);
	subtree->bytes = (uint64_t)uvmp_region_pages(node.pages) * page_bytes(action);
	subtree->set = node.set;
	subtree->big_pages = node.big_pages;
	return true;
}

/* -- the story -- */

/* What runtime=on has found concerns all that follows, whatever page is asked for; */
static bool is_finding(const struct uvmp_action *action)
{
	return action->kind == UVMP_ACTION_PATTERN;
}

/* and what it concludes, all spaces. */
static bool is_conclusion(const struct uvmp_action *action)
{
	return is_finding(action) && action->is_update;
}

/* The action's pages that are meant. False if it does not concern them. */
static bool find_pages(const struct explain_query *query, const struct uvmp_action *action, uvmp_mask *pages)
{
	uint64_t first = query->first, last = query->last, bytes = page_bytes(action), base = action->address;
	struct uvmp_region region = {0, UVMP_MASK_BITS};

	uvmp_mask_zero(pages);
	if (uvmp_mask_is_empty(&action->pages)) {
		if (is_finding(action))
			return true;
		/* An access outside every block has an address alone. */
		base -= base % bytes;
		return action->kind == UVMP_ACTION_CANCEL && last >= base &&
		       (first <= base || first - base < bytes);
	}
	if (last < base)
		return false;
	if (first > base) {
		if ((first - base) / bytes >= UVMP_MASK_BITS)
			return false;
		region.first = (uint32_t)((first - base) / bytes);
	}
	if ((last - base) / bytes < UVMP_MASK_BITS)
		region.outer = (uint32_t)((last - base) / bytes) + 1;
	uvmp_mask_region_and(pages, &action->pages, region);
	return !uvmp_mask_is_empty(pages);
}

/* `the CPU`, `GPU 3`. The text is good for one call of printf. */
struct processor_name {
	char text[16];
};

static struct processor_name name_of(uint32_t processor)
{
	struct processor_name name;

	if (processor == UVMP_CPU)
		strcpy(name.text, "the CPU");
	else if (processor < UVMP_PROC_NONE)
		snprintf(name.text, sizeof(name.text), "GPU %u", (unsigned)processor);
	else
		strcpy(name.text, "somewhere");
	return name;
}
#define NAME(processor) (name_of(processor).text)

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void tell_time(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%03" PRIu64 " ms", ns / 1000000, ns / 1000 % 1000);
}

static void tell_bytes(FILE *out, uint64_t bytes)
{
	if (bytes >= 1048576 && bytes % 1048576 == 0)
		fprintf(out, "%" PRIu64 " MiB", bytes / 1048576);
	else if (bytes >= 1024 && bytes % 1024 == 0)
		fprintf(out, "%" PRIu64 " KiB", bytes / 1024);
	else
		fprintf(out, "%" PRIu64 " bytes", bytes);
}

/* `page 5 of block 0x7f0000000000`. */
static void tell_pages(FILE *out, const uvmp_mask *pages, uint64_t address)
{
	struct uvmp_region hull = uvmp_mask_hull(pages);
	uint32_t weight = uvmp_mask_weight(pages), last = hull.outer - 1;

	if (weight == 1)
		fprintf(out, "page %u", (unsigned)last);
	else if (weight == uvmp_region_pages(hull))
		fprintf(out, "pages %u-%u", (unsigned)hull.first, (unsigned)last);
	else
		fprintf(out, "%u pages of %u-%u", (unsigned)weight, (unsigned)hull.first, (unsigned)last);
	fprintf(out, " of block 0x%" PRIx64, address);
}

/* ` with 15 pages around it`: those of the action that are not meant. */
static void tell_company(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	uint32_t weight = uvmp_mask_weight(pages), company = uvmp_mask_weight(&action->pages) - weight;

	if (company > 0)
		fprintf(out, " with %u page%s around %s", (unsigned)company, plural(company),
		        weight == 1 ? "it" : "them");
}

static void tell_room(FILE *out, const struct uvmp_action *action)
{
	fputs("to make room", out);
	if (action->for_address != 0)
		fprintf(out, " for block 0x%" PRIx64, action->for_address);
}

/* Why `weight` pages came that did not fault. */
static void tell_prefetch(FILE *out, const struct uvmp_action *action, const struct subtree *subtree,
                          uint32_t weight)
{
	uint64_t known = (uint64_t)action->faulted + action->present;

	fputs(", prefetched", out);
	if (subtree != NULL && subtree->own > 0) {
		fprintf(out, " with the 64 KiB big page%s that faulted", plural(subtree->own));
	} else if (subtree != NULL) {
		fprintf(out, " because %u of the %u big pages of %s subtree (", (unsigned)subtree->set,
		        (unsigned)subtree->big_pages, weight == 1 ? "its" : "their");
		tell_bytes(out, subtree->bytes);
		fprintf(out, " at 0x%" PRIx64 ") had faulted or %s there", subtree->address,
		        subtree->set == 1 ? "was" : "were");
	} else if (known > 0) {
		fprintf(out,
		        " because %" PRIu64 " page%s of the block had faulted or %s there"
		        " (faulted=%" PRIu32 ", present=%" PRIu32 ")",
		        known, plural(known), known == 1 ? "was" : "were", action->faulted, action->present);
	}
}

/* The end of a sentence: why. */
static void tell_reason(FILE *out, const struct uvmp_action *action)
{
	switch ((enum uvmp_cause)action->cause) {
	case UVMP_CAUSE_NONE:
	case UVMP_CAUSE_COUNT:
		return;
	case UVMP_CAUSE_DEMAND:
		fputs(", on demand", out);
		return;
	case UVMP_CAUSE_PREFETCH:
		tell_prefetch(out, action, NULL, 0);
		return;
	case UVMP_CAUSE_EVICTION:
		fputs(", ", out);
		tell_room(out, action);
		return;
	case UVMP_CAUSE_COUNTER:
		fputs(", because access counters say that it is used from afar", out);
		return;
	case UVMP_CAUSE_PIN:
		fprintf(out, ", pinned after %" PRIu32 " throttling%s", action->throttles,
		        plural(action->throttles));
		return;
	case UVMP_CAUSE_HINT:
		fputs(", because of a preferred location, accessed-by or read duplication", out);
		return;
	case UVMP_CAUSE_MIGRATE:
		fputs(", because the program asked for it", out);
		return;
	case UVMP_CAUSE_REVOKE:
		fputs(", because another processor writes", out);
		return;
	case UVMP_CAUSE_THRASHING:
		fputs(", because other processors need it too", out);
		return;
	case UVMP_CAUSE_FATAL:
		fputs(", because there is no range or no right", out);
		return;
	case UVMP_CAUSE_FREE:
		fputs(", because the range is gone", out);
		return;
	case UVMP_CAUSE_ADAPT:
		fputs(", because a controller of the policy says so", out);
		return;
	case UVMP_CAUSE_ERROR:
		fprintf(out, ", because something failed (%s)",
		        uvmp_status_text((enum uvmp_status)action->status));
		return;
	}
}

/* The same of pages that came. */
static void tell_coming(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages,
                        const struct subtree *subtree)
{
	tell_company(out, action, pages);
	if (action->cause == UVMP_CAUSE_PREFETCH)
		tell_prefetch(out, action, subtree, uvmp_mask_weight(pages));
	else
		tell_reason(out, action);
}

static void tell_copy(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages,
                      const struct subtree *subtree)
{
	bool is_one = uvmp_mask_weight(pages) == 1;

	fprintf(out, "%s: ", is_eviction(action) ? "left" : uvmp_cause_name((enum uvmp_cause)action->cause));
	tell_pages(out, pages, action->address);
	if (action->cause == UVMP_CAUSE_DEMAND) {
		fprintf(out, " %s not on %s; came from %s", is_one ? "was" : "were", NAME(action->to),
		        NAME(action->from));
		tell_company(out, action, pages);
		return;
	}
	if (is_eviction(action))
		fprintf(out, " went from %s to %s", NAME(action->from), NAME(action->to));
	else
		fprintf(out, " came to %s from %s", NAME(action->to), NAME(action->from));
	tell_coming(out, action, pages, subtree);
}

static void tell_new(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages,
                     const struct subtree *subtree)
{
	fputs("new: ", out);
	tell_pages(out, pages, action->address);
	fprintf(out, " %s as zeros on %s", uvmp_mask_weight(pages) == 1 ? "begins" : "begin",
	        NAME(action->to));
	tell_coming(out, action, pages, subtree);
}

static void tell_eviction(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	static const char *const victim[] = {"as a free root that was not handed back yet",
	                                     "as the oldest of UNUSED", "as the oldest of DISCARDED",
	                                     "as the oldest of USED", "as the next of the eviction order"};

	fprintf(out, "evicted %s ", victim[action->victim]);
	tell_room(out, action);
	fputs(": ", out);
	tell_pages(out, pages, action->address);
	fprintf(out, " had to leave %s", NAME(action->from));
}

static void tell_mapping(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	static const char *const right[] = {"nothing", "read", "read-write", "read-write-atomic"};

	if (action->kind == UVMP_ACTION_REVOKE) {
		fprintf(out, "revoked: %s keeps %s%s on ", NAME(action->to),
		        action->right != 0 ? "only " : "", right[action->right]);
		tell_pages(out, pages, action->address);
	} else if (action->kind == UVMP_ACTION_UNMAP) {
		fputs("unmapped: ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " from %s", NAME(action->to));
	} else {
		bool is_remote = action->from != action->to && action->from != UVMP_PROC_NONE;

		fprintf(out, "mapped%s (%s)", is_remote ? " remotely" : "", right[action->right]);
		if (is_remote)
			fprintf(out, " where it lies, on %s", NAME(action->from));
		fputs(": ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " for %s", NAME(action->to));
	}
	tell_reason(out, action);
}

static void tell_cancel(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	bool has_pages = !uvmp_mask_is_empty(pages);

	if (action->cause == UVMP_CAUSE_FATAL)
		fputs(has_pages ? "cancelled: no right, " : "cancelled: no range, ", out);
	else
		fputs("cancelled: ", out);
	fprintf(out, "%s of %s to ",
	        action->right == UVMP_CANCEL_WRITE_AND_ATOMIC ? "writes and atomics" : "accesses",
	        NAME(action->to));
	if (has_pages)
		tell_pages(out, pages, action->address);
	else
		fprintf(out, "0x%" PRIx64, action->address);
	fputs(" cannot be serviced", out);
	if (action->cause != UVMP_CAUSE_FATAL)
		tell_reason(out, action);
}

static void tell_finding(FILE *out, const struct uvmp_action *action)
{
	static const char *const pattern[] = {"undecided",          "linear", "linear, with reuse", "random",
	                                      "random, with reuse", "mixed",  "mixed, with reuse"};
	static const char *const verdict[] = {"2 MiB leave at a time", "victims are chosen by trees",
	                                      "victims are chosen by trees, and the GPU reads from afar"};

	fputs("pattern: ", out);
	if (action->is_update)
		fprintf(out, "from now on %s",
		        action->detail < sizeof(verdict) / sizeof(verdict[0]) ? verdict[action->detail]
		                                                              : "?");
	else
		fprintf(out, "the allocation at 0x%" PRIx64 " is %s", action->address,
		        action->count < sizeof(pattern) / sizeof(pattern[0]) ? pattern[action->count] : "?");
}

/* Kinds that say the same of all their pages: `word: PAGES ... `. */
static void tell_other(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	bool is_one = uvmp_mask_weight(pages) == 1;

	switch ((enum uvmp_action_kind)action->kind) {
	case UVMP_ACTION_ALLOCATE:
	case UVMP_ACTION_FREE:
		fputs(action->kind == UVMP_ACTION_FREE ? "freed: " : "allocated: ", out);
		tell_bytes(out, action->detail);
		fprintf(out, " at 0x%" PRIx64 " of %s, ", action->offset,
		        NAME(action->kind == UVMP_ACTION_FREE ? action->from : action->to));
		fputs(action->kind == UVMP_ACTION_FREE ? "where " : "for ", out);
		tell_pages(out, pages, action->address);
		if (action->kind == UVMP_ACTION_FREE)
			fputs(is_one ? " was" : " were", out);
		break;
	case UVMP_ACTION_DISCARD:
		fputs("discarded: ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " on %s %s no contents any more and %s not copied", NAME(action->from),
		        is_one ? "has" : "have", is_one ? "is" : "are");
		break;
	case UVMP_ACTION_THROTTLE:
		fputs("throttled until ", out);
		tell_time(out, action->until_ns);
		fprintf(out, ": %s is not serviced for ", NAME(action->to));
		tell_pages(out, pages, action->address);
		break;
	case UVMP_ACTION_UNPIN:
		fputs("unpinned: ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " %s free to move again", is_one ? "is" : "are");
		return;
	default:
		fprintf(out, "%s: ", uvmp_action_name((enum uvmp_action_kind)action->kind));
		tell_pages(out, pages, action->address);
		break;
	}
	tell_reason(out, action);
}

/* How long it took, if the log has its completion and the host models time. */
static void tell_duration(FILE *out, const struct uvmp_action *action, uint64_t end_ns)
{
	if (end_ns > action->time_ns)
		fprintf(out, "; complete after %" PRIu64 ".%03" PRIu64 " us",
		        (end_ns - action->time_ns) / 1000, (end_ns - action->time_ns) % 1000);
}

/* subtree: for what was prefetched; NULL: not known. end_ns: the action completed then; 0: not known. */
static void tell_action(struct explanation *explanation, const struct uvmp_action *action,
                        const uvmp_mask *pages, const struct subtree *subtree, uint64_t end_ns)
{
	FILE *out = explanation->out;

	if (!explanation->has_told && !is_finding(action)) {
		explanation->space = action->space;
		explanation->has_told = true;
	}
	fputs("t=", out);
	tell_time(out, action->time_ns);
	fputs("  ", out);
	if (action->batch != 0)
		fprintf(out, "batch %" PRIu32 "  ", action->batch);
	if (action->ticket != 0)
		fprintf(out, "request %" PRIu64 "  ", action->ticket);
	if (explanation->has_told && action->space != explanation->space && !is_conclusion(action))
		fprintf(out, "space %" PRIu64 "  ", action->space);
	if (action->kind == UVMP_ACTION_COPY)
		tell_copy(out, action, pages, subtree);
	else if (action->kind == UVMP_ACTION_POPULATE)
		tell_new(out, action, pages, subtree);
	else if (action->kind == UVMP_ACTION_EVICT)
		tell_eviction(out, action, pages);
	else if (action->kind == UVMP_ACTION_MAP || action->kind == UVMP_ACTION_UNMAP ||
	         action->kind == UVMP_ACTION_REVOKE)
		tell_mapping(out, action, pages);
	else if (action->kind == UVMP_ACTION_CANCEL)
		tell_cancel(out, action, pages);
	else if (is_finding(action))
		tell_finding(out, action);
	else
		tell_other(out, action, pages);
	tell_duration(out, action, end_ns);
	fputc('\n', out);
	count_pages(&explanation->tally, &explanation->pinned, action, pages);
}

/* Tells the copies that are kept. */
static void end_step(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->kept_count; i++) {
		const struct kept *kept = &explanation->kept[i];
		struct subtree subtree;
		bool is_found = find_subtree(explanation, &kept->action, &kept->pages, &subtree);

		tell_action(explanation, &kept->action, &kept->pages, is_found ? &subtree : NULL,
		            kept->end_ns);
	}
	explanation->kept_count = 0;
	explanation->step++;
}

static bool keep(struct explanation *explanation, const struct uvmp_action *action, const uvmp_mask *pages)
{
	if (explanation->kept == NULL)
		explanation->kept = malloc(KEPT_MAX * sizeof(*explanation->kept));
	if (explanation->kept == NULL)
		return false;
	explanation->kept[explanation->kept_count++] = (struct kept){*action, *pages, 0};
	return true;
}

/* A step's copies follow one another in one group, whose first action alone waits for none. Those of a victim
 * that leaves meanwhile may be among them. */
static bool take_action_of_story(struct explanation *explanation, const struct uvmp_action *action)
{
	bool is_copy = action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE;
	uvmp_mask pages;

	if (!is_copy || action->after == 0 || explanation->kept_count == KEPT_MAX)
		end_step(explanation);
	if (is_near(explanation->query, action) && !mirror(explanation, action))
		return false;
	if (!find_pages(explanation->query, action, &pages))
		return true;
	if (is_copy)
		return keep(explanation, action, &pages);
	tell_action(explanation, action, &pages, NULL, 0);
	return true;
}

static void tell_times(FILE *out, const char *what, uint64_t times)
{
	fprintf(out, "%s %" PRIu64 " time%s", what, times, plural(times));
}

static uint64_t came(const struct tally *tally)
{
	uint64_t sum = 0;

	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		sum += tally->came[cause];
	return sum;
}

/* The closing line. */
static void tell_tally(const struct explanation *explanation)
{
	const struct explain_query *query = explanation->query;
	const struct tally *tally = &explanation->tally;
	const char *before = ": ";
	FILE *out = explanation->out;

	fprintf(out, "0x%" PRIx64, query->first);
	if (query->last != query->first)
		fprintf(out, "-0x%" PRIx64, query->last);
	if (!explanation->has_told) {
		fputs(": the log says nothing of it\n", out);
		return;
	}
	tell_times(out, query->last != query->first ? ": its pages came" : ": came", came(tally));
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++) {
		if (tally->came[cause] == 0)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, tally->came[cause],
		        uvmp_cause_name((enum uvmp_cause)cause));
		before = ", ";
	}
	tell_times(out, "; left", tally->left);
	if (tally->throttles > 0)
		tell_times(out, "; throttled", tally->throttles);
	if (tally->pins > 0)
		tell_times(out, "; pinned", tally->pins);
	fputc('\n', out);
}

/* -- the summary -- */

static void count_bounces(struct block *block, const struct uvmp_action *action)
{
	uint32_t page = uvmp_mask_next_set(&action->pages, 0);

	for (; page < UVMP_MASK_BITS; page = uvmp_mask_next_set(&action->pages, page + 1)) {
		if (!is_eviction(action) && block->gone_from[page] == action->to &&
		    action->to != UVMP_PROC_NONE)
			block->tally.bounces++;
		block->gone_from[page] = action->from;
	}
}

static bool count_action(struct explanation *explanation, const struct uvmp_action *action)
{
	uint32_t weight = uvmp_mask_weight(&action->pages);
	struct block *block;

	explanation->kinds[action->kind]++;
	if (is_finding(action))
		tell_action(explanation, action, &action->pages, NULL, 0);
	if (weight == 0)
		return true;
	block = find_block(explanation, action->space, action->address);
	if (block == NULL)
		return false;
	count_pages(&block->tally, &block->pinned, action, &action->pages);
	if (action->kind == UVMP_ACTION_POPULATE)
		explanation->cause[action->cause].zeroed += weight;
	if (action->kind == UVMP_ACTION_COPY) {
		count_bounces(block, action);
		explanation->cause[action->cause].copies++;
		explanation->cause[action->cause].pages += weight;
		explanation->cause[action->cause].bytes += (uint64_t)weight * page_bytes(action);
	}
	return true;
}

static uint64_t moves(const struct tally *tally)
{
	return came(tally) + tally->left;
}

/* Most moved first; among equals by space and address. */
static int compare_blocks(const void *left, const void *right)
{
	const struct block *a = left, *b = right;
	uint64_t moves_a = moves(&a->tally), moves_b = moves(&b->tally);

	if (moves_a != moves_b)
		return moves_a > moves_b ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The columns of the summary: causes of their own, the others together. */
static const enum uvmp_cause columns[] = {UVMP_CAUSE_DEMAND, UVMP_CAUSE_PREFETCH, UVMP_CAUSE_COUNTER,
                                          UVMP_CAUSE_PIN,    UVMP_CAUSE_HINT,     UVMP_CAUSE_MIGRATE};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_tally(const struct tally *tally, FILE *out)
{
	uint64_t rest = came(tally);

	for (size_t i = 0; i < COLUMNS; i++) {
		fprintf(out, "%10" PRIu64, tally->came[columns[i]]);
		rest -= tally->came[columns[i]];
	}
	fprintf(out, "%10" PRIu64 "%10" PRIu64 "%10" PRIu64 "%11" PRIu64 "%10" PRIu64 "\n", rest, tally->left,
	        tally->bounces, tally->throttles, tally->pins);
}

static void add_tally(struct tally *sum, const struct tally *tally)
{
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		sum->came[cause] += tally->came[cause];
	sum->left += tally->left;
	sum->bounces += tally->bounces;
	sum->throttles += tally->throttles;
	sum->pins += tally->pins;
}

static void print_blocks(struct explanation *explanation)
{
	FILE *out = explanation->out;

	fprintf(out, "%-20s%8s", "pages of block", "space");
	for (size_t i = 0; i < COLUMNS; i++)
		fprintf(out, "%10s", uvmp_cause_name(columns[i]));
	fprintf(out, "%10s%10s%10s%11s%10s\n", "other", "evicted", "bounced", "throttled", "pinned");
	qsort(explanation->block, explanation->blocks, sizeof(*explanation->block), compare_blocks);
	for (size_t i = 0; i < explanation->blocks; i++) {
		const struct block *block = &explanation->block[i];

		add_tally(&explanation->tally, &block->tally);
		if (i >= BLOCKS_SHOWN)
			continue;
		fprintf(out, "0x%-18" PRIx64 "%8" PRIu64, block->address, block->space);
		print_tally(&block->tally, out);
	}
	fprintf(out, "all %-16zu%8s", explanation->blocks, "");
	print_tally(&explanation->tally, out);
}

static void print_summary(struct explanation *explanation)
{
	FILE *out = explanation->out;
	const char *before = ": ";
	uint64_t actions = 0;

	if (explanation->blocks > 0)
		print_blocks(explanation);
	fprintf(out, "%s%-12s%12s%12s%16s%14s\n", explanation->blocks > 0 ? "\n" : "", "cause", "copies",
	        "pages", "bytes", "pages zeroed");
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		if (explanation->cause[cause].copies > 0 || explanation->cause[cause].zeroed > 0)
			fprintf(out, "%-12s%12" PRIu64 "%12" PRIu64 "%16" PRIu64 "%14" PRIu64 "\n",
			        uvmp_cause_name((enum uvmp_cause)cause), explanation->cause[cause].copies,
			        explanation->cause[cause].pages, explanation->cause[cause].bytes,
			        explanation->cause[cause].zeroed);
	for (uint32_t kind = 0; kind < UVMP_ACTION_COUNT; kind++)
		actions += explanation->kinds[kind];
	fprintf(out, "\n%" PRIu64 " action%s", actions, plural(actions));
	for (uint32_t kind = 0; kind < UVMP_ACTION_COUNT; kind++) {
		if (explanation->kinds[kind] == 0)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, explanation->kinds[kind],
		        uvmp_action_name((enum uvmp_action_kind)kind));
		before = ", ";
	}
	fputc('\n', out);
}

/* -- the log -- */

/* Of a copy whose step is not told yet: the completion follows its action closely in the logs of our hosts.
 */
static void take_completion(struct explanation *explanation, const struct uvmp_action *completion)
{
	for (size_t i = explanation->kept_count; i > 0; i--)
		if (explanation->kept[i - 1].action.id == completion->id)
			explanation->kept[i - 1].end_ns = completion->time_ns;
}

static bool take_action(struct explanation *explanation, const struct uvmp_action *action)
{
	const struct explain_query *query = explanation->query;

	if (action->kind == UVMP_ACTION_COMPLETE) {
		take_completion(explanation, action);
		return true;
	}
	if (query->has_space && action->space != query->space && !is_conclusion(action))
		return true;
	return query->has_address ? take_action_of_story(explanation, action)
	                          : count_action(explanation, action);
}

static void refuse_line(const struct line_reader *reader, const char *name, enum uvmp_status status,
                        size_t offset, char error[EXPLAIN_ERROR_MAX])
{
	char where[QUOTE_MAX + 8] = "the end";
	const char *rest = reader->text + offset;

	if (*rest != '\0')
		snprintf(where, sizeof(where), "`%.*s%s`", QUOTE_MAX, rest,
		         strlen(rest) > QUOTE_MAX ? "..." : "");
	snprintf(error, EXPLAIN_ERROR_MAX, "%.300s:%" PRIu64 ": %s at %s", name, reader->number,
	         uvmp_status_text(status), where);
}

static bool read_log(struct explanation *explanation, struct line_reader *reader, const char *name,
                     char error[EXPLAIN_ERROR_MAX])
{
	enum line_status line;

	while ((line = line_read(reader)) == LINE_OK) {
		struct uvmp_action action;
		size_t offset;
		enum uvmp_status status = uvmp_action_parse(reader->text, reader->length, &action, &offset);

		if (status != UVMP_OK) {
			refuse_line(reader, name, status, offset, error);
			return false;
		}
		if (!take_action(explanation, &action)) {
			snprintf(error, EXPLAIN_ERROR_MAX, "out of memory");
			return false;
		}
	}
	if (line == LINE_BAD)
		snprintf(error, EXPLAIN_ERROR_MAX, "%.300s:%" PRIu64 ": %s", name, reader->number,
		         reader->error);
	return line == LINE_END;
}

bool explain_log(FILE *in, const char *name, const struct explain_query *query, FILE *out,
                 char error[EXPLAIN_ERROR_MAX])
{
	struct explanation explanation = {.query = query, .out = out, .step = 1};
	struct line_reader reader;
	bool is_good;

	line_reader_init(&reader, in);
	is_good = read_log(&explanation, &reader, name, error);
	end_step(&explanation);
	if (is_good && query->has_address)
		tell_tally(&explanation);
	else if (is_good)
		print_summary(&explanation);
	for (size_t i = 0; i < explanation.blocks; i++)
		free_places(&explanation.block[i]);
	free(explanation.block);
	free(explanation.kept);
	free(explanation.slot);
	return is_good;
}
