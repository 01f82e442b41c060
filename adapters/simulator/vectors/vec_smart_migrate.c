/* Kind "smart_migrate": does a miss migrate the page, or access it remotely?
 *
 *   smart_migrate mode=adaptive ts=8 penalty=2 capacity=1000 free=500 rd=0 wr=0 buffer=0 over=0
 *        count=4 rounds=0 write=0                       (one line)
 *   => migrate=0 threshold=5
 *
 * The threshold is the least count that migrates; `none` if none of 27 bits does.
 */
#include <inttypes.h>

#include "vec_kind.h"
#include "uvmpolicy/counter.h"

static void take_pressure(struct vec_args *args, struct uvmp_pressure *pressure)
{
	pressure->total_pages = vec_number(args, "capacity", 1, UVMP_PRESSURE_PAGES_MAX);
	pressure->free_pages = vec_number(args, "free", 0, UVMP_PRESSURE_PAGES_MAX);
	pressure->incoming_pages = vec_number(args, "rd", 0, UVMP_PRESSURE_PAGES_MAX);
	pressure->leaving_pages = vec_number(args, "wr", 0, UVMP_PRESSURE_PAGES_MAX);
	pressure->buffer_percent = (uint32_t)vec_number(args, "buffer", 0, 100);
	pressure->quirks = true;
}

static void migrate_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const char *const modes[] = {"off", "adaptive", "always", "oversub", NULL};
	struct uvmp_remote_params params;
	struct uvmp_remote_facts facts;
	struct uvmp_remote_verdict verdict;

	(void)state;
	(void)word;
	params.remote = vec_choice(args, "mode", modes);
	params.threshold = (uint32_t)vec_number(args, "ts", 0, UINT32_MAX);
	params.penalty = (uint32_t)vec_number(args, "penalty", 0, UINT32_MAX);
	take_pressure(args, &facts.pressure);
	facts.is_oversubscribed = vec_flag(args, "over");
	facts.count = (uint32_t)vec_number(args, "count", 0, UVMP_COUNTER_COUNT_MAX);
	facts.rounds = (uint32_t)vec_number(args, "rounds", 0, UVMP_COUNTER_ROUNDS_MAX);
	facts.is_write = vec_flag(args, "write");
	if (args->failed || uvmp_remote_decide(&params, &facts, &verdict) != UVMP_OK)
		return;
	vec_printf(out, "=> migrate=%d threshold=", verdict.migrates);
	if (verdict.threshold > UVMP_COUNTER_COUNT_MAX)
		vec_printf(out, "none\n");
	else
		vec_printf(out, "%" PRIu64 "\n", verdict.threshold);
}

const struct vec_kind vec_smart_migrate = {.name = "smart_migrate", .line = migrate_line};
