/* Kind "thrash": the thrashing detector over scripts of events and questions.
 *
 *   case NAME procs=2 can=0/0-1 fast=-/- atom=0/1 nomem=- pref=none rdup=unset thr=3 pin=10 lapse_us=500
 * vote=32 nap=1 epoch=2000 pinx=300 resets=4 mig t=1000 blk=0 page=7 dst=1 cause=fault copy=0 final=1    =>
 * array=0 thrashing=- pinned=- hint t=2000 blk=0 page=7 proc=0                             => none
 * lapse=500000 vote=0
 *
 * The script has one address space with two full blocks. It knows who holds each page, because hints depend
 * on it.
 */
#include <stdlib.h>
#include <string.h>

#include "vec_kind.h"
#include "vec_processor.h"
#include "uvmpolicy/thrash.h"

#define BLOCKS 2u
#define PAGES  UVMP_MASK_BITS

struct script {
	struct uvmp_processors processors;
	struct uvmp_thrash_space space;
	struct uvmp_thrash_block block[BLOCKS];
	uint64_t holders[BLOCKS][PAGES];
	uint32_t preferred;
	bool is_read_duplicated;
};

static void close_script(void *state)
{
	struct script *script = state;

	for (uint32_t i = 0; i < BLOCKS; i++)
		free(script->block[i].memory);
	free(script);
}

static uint32_t take_number(struct vec_args *args, const char *key, uint32_t min, uint32_t max)
{
	return (uint32_t)vec_number(args, key, min, max);
}

static void take_processors(struct vec_args *args, struct uvmp_processors *processors)
{
	uint32_t count = take_number(args, "procs", 1, UVMP_PROCS_MAX);

	processors->count = count;
	vec_proc_rows(args, "can", count, processors->can_access);
	vec_proc_rows(args, "fast", count, processors->fast_link);
	vec_proc_rows(args, "atom", count, processors->native_atomics);
	processors->no_memory = vec_proc_set(args, "nomem");
	if (!args->failed && !uvmp_processors_is_valid(processors))
		vec_fail(args, "these relations cannot be: each processor reaches itself, has atomics on its "
		               "memory and no link to itself, and the CPU has memory");
}

static void take_params(struct vec_args *args, struct uvmp_thrash_params *params)
{
	uvmp_thrash_params_init(params);
	params->threshold = take_number(args, "thr", 1, 7);
	params->pin_threshold = take_number(args, "pin", 1, 255);
	params->lapse_us = take_number(args, "lapse_us", 1, UINT32_MAX);
	params->vote_threshold = take_number(args, "vote", 1, UINT32_MAX);
	params->nap = take_number(args, "nap", 1, 100);
	params->epoch = take_number(args, "epoch", 1, UINT32_MAX);
	params->pin = take_number(args, "pinx", 0, UINT32_MAX);
	params->max_resets = take_number(args, "resets", 0, UINT32_MAX);
}

static uint32_t take_proc(struct vec_args *args, const struct script *script, const char *key, bool may_miss)
{
	uint32_t proc = vec_proc(args, key);

	if (!args->failed && proc >= script->processors.count && !(may_miss && proc == UVMP_PROC_NONE))
		vec_fail(args, "%s: there are only the processors 0..%u here", key,
		         script->processors.count - 1);
	return proc;
}

static void *open_script(struct vec_args *args, const char *case_name)
{
	static const char *const duplications[] = {"unset", "enabled", "disabled", NULL};
	struct script *script = vec_zeros(1, sizeof(*script));
	struct uvmp_thrash_params params;

	(void)case_name;
	take_processors(args, &script->processors);
	script->preferred = take_proc(args, script, "pref", true);
	script->is_read_duplicated = vec_choice(args, "rdup", duplications) == 1;
	take_params(args, &params);
	(void)uvmp_thrash_space_init(&script->space, &params);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		size_t bytes = uvmp_thrash_array_size(PAGES);

		(void)uvmp_thrash_block_init(&script->block[i], i, PAGES);
		(void)uvmp_thrash_block_give(&script->block[i], vec_zeros(1, bytes), bytes);
		for (uint32_t page = 0; page < PAGES; page++)
			script->holders[i][page] = 1;
	}
	if (!args->failed)
		return script;
	close_script(script);
	return NULL;
}

/* `page=5` or `page=5-9`. */
static struct uvmp_region take_region(struct vec_args *args)
{
	struct uvmp_region region = {0, 1};
	struct vec_range *ranges;
	size_t count = vec_set(args, "page", PAGES, &ranges);

	if (count == 1) {
		region.first = (uint32_t)ranges[0].first;
		region.end = (uint32_t)ranges[0].last + 1;
	} else if (!args->failed) {
		vec_fail(args, "page: one page or one range is accepted");
	}
	free(ranges);
	return region;
}

static void hold(struct script *script, uint32_t block, struct uvmp_region region, uint64_t procs, bool more)
{
	for (uint32_t page = region.first; page < region.end; page++)
		script->holders[block][page] = procs | (more ? script->holders[block][page] : 0);
}

static void print_block(const struct uvmp_thrash_block *block, struct vec_out *out)
{
	vec_printf(out, "=> array=%d thrashing=", block->has_pages);
	vec_print_mask(out, &block->thrashing);
	vec_printf(out, " pinned=");
	vec_print_mask(out, &block->pinned);
	vec_printf(out, "\n");
}

static void step_res(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint32_t block = take_number(args, "blk", 0, BLOCKS - 1);
	struct uvmp_region region = take_region(args);
	uint64_t procs = vec_proc_set(args, "procs");

	if (!args->failed && (procs >> (script->processors.count - 1)) >> 1 != 0)
		vec_fail(args, "procs: there are only the processors 0..%u here",
		         script->processors.count - 1);
	if (args->failed)
		return;
	hold(script, block, region, procs, false);
	vec_printf(out, "=> ok\n");
}

static void step_mig(struct script *script, struct vec_args *args, struct vec_out *out)
{
	static const char *const causes[] = {"fault", "nrfault", "ac", "prefetch", "evict", NULL};
	struct uvmp_thrash_migration migration = {.is_read_duplicated = script->is_read_duplicated};
	uint32_t block;

	migration.now_ns = vec_number(args, "t", 0, UINT64_MAX);
	block = take_number(args, "blk", 0, BLOCKS - 1);
	migration.region = take_region(args);
	migration.to = take_proc(args, script, "dst", false);
	migration.cause = (enum uvmp_migrate_cause)vec_choice(args, "cause", causes);
	migration.is_copy = vec_flag(args, "copy");
	migration.final_to = take_proc(args, script, "final", false);
	if (args->failed)
		return;
	(void)uvmp_thrash_migrate(&script->space, &script->block[block], &migration);
	hold(script, block, migration.region, (uint64_t)1 << migration.to, migration.is_copy);
	print_block(&script->block[block], out);
}

static void step_rev(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t now_ns = vec_number(args, "t", 0, UINT64_MAX);
	uint32_t block = take_number(args, "blk", 0, BLOCKS - 1);
	struct uvmp_region region = take_region(args);
	uint32_t proc = take_proc(args, script, "proc", false);

	if (args->failed)
		return;
	(void)uvmp_thrash_revoke(&script->space, &script->block[block], region, proc, now_ns);
	print_block(&script->block[block], out);
}

static void step_hint(struct script *script, struct vec_args *args, struct vec_out *out)
{
	struct uvmp_thrash_facts facts = {.preferred = script->preferred,
	                                  .has_preferred = script->preferred != UVMP_PROC_NONE};
	struct uvmp_thrash_hint hint = {0};
	uint32_t block;

	facts.now_ns = vec_number(args, "t", 0, UINT64_MAX);
	block = take_number(args, "blk", 0, BLOCKS - 1);
	facts.page = take_number(args, "page", 0, PAGES - 1);
	facts.requester = take_proc(args, script, "proc", false);
	if (args->failed)
		return;
	facts.residents = script->holders[block][facts.page];
	(void)uvmp_thrash_decide(&script->space, &script->block[block], &script->processors, &facts, &hint);
	if (hint.kind == UVMP_THRASH_PIN) {
		vec_printf(out, "=> pin to=%u procs=", hint.pin_to);
		vec_print_bits(out, hint.procs);
	} else if (hint.kind == UVMP_THRASH_THROTTLE) {
		vec_printf(out, "=> throttle until=%llu", (unsigned long long)hint.until_ns);
	} else {
		vec_printf(out, "=> none");
	}
	vec_printf(out, " lapse=%llu vote=%d\n", (unsigned long long)script->space.lapse_ns,
	           script->space.vote);
}

static void step_unpin(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint64_t now_ns = vec_number(args, "t", 0, UINT64_MAX), rearm_us;
	struct uvmp_thrash_block *block;
	const char *separator = "";
	uint32_t page;
	bool found;

	if (args->failed)
		return;
	vec_printf(out, "=> pages=");
	while (uvmp_thrash_unpin(&script->space, now_ns, &block, &page, &found) == UVMP_OK && found) {
		vec_printf(out, "%s%llu:%u", separator, (unsigned long long)block->id, page);
		separator = ",";
	}
	rearm_us = uvmp_thrash_unpin_us(&script->space, now_ns);
	vec_printf(out, "%s rearm_us=", *separator == '\0' ? "-" : "");
	if (rearm_us == UVMP_THRASH_IDLE)
		vec_printf(out, "none\n");
	else
		vec_printf(out, "%llu\n", (unsigned long long)rearm_us);
}

static void step_state(struct script *script, struct vec_args *args, struct vec_out *out)
{
	const struct uvmp_thrash_block *block = &script->block[take_number(args, "blk", 0, BLOCKS - 1)];
	uint32_t index = take_number(args, "page", 0, PAGES - 1);
	static const struct uvmp_thrash_page fresh = {.pin_proc = UVMP_PROC_NONE, .spared = UVMP_PROC_NONE};
	const struct uvmp_thrash_page *page = &fresh; /* without events */

	if (args->failed)
		return;
	if (!block->has_pages) {
		vec_printf(out, "=> array=0\n");
		return;
	}
	if (uvmp_mask_test(&block->begun, index))
		page = &block->memory[index];
	vec_printf(out,
	           "=> array=1 ts=%llu ev=%u thr=%u pinned=%d pinres=", (unsigned long long)page->event_ns,
	           page->events, page->throttles, uvmp_mask_test(&block->pinned, index));
	vec_print_proc(out, page->pin_proc);
	vec_printf(out, " procs=");
	vec_print_bits(out, page->procs);
	vec_printf(out, " throttled=");
	vec_print_bits(out, page->throttled);
	vec_printf(out, " dnt=");
	vec_print_proc(out, page->spared);
	vec_printf(out, " end=%llu mig=%d rev=%d resets=%u pinned_total=%u nthrash=%u\n",
	           (unsigned long long)page->throttle_end_ns, page->has_migrated, page->has_revoked,
	           block->resets, block->pins, uvmp_mask_weight(&block->thrashing));
}

static void thrash_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const struct {
		const char *word;
		void (*step)(struct script *script, struct vec_args *args, struct vec_out *out);
	} steps[] = {{"res", step_res},   {"mig", step_mig},     {"rev", step_rev},
	             {"hint", step_hint}, {"unpin", step_unpin}, {"state", step_state}};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(word, steps[i].word) == 0) {
			steps[i].step(state, args, out);
			return;
		}
	vec_fail(args, "step \"%.80s\" is not known; res, mig, rev, hint, unpin, state are accepted", word);
}

const struct vec_kind vec_thrash = {"thrash", true, open_script, close_script, thrash_line};
