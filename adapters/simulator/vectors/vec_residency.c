/* Kind "residency": where a page goes.
 *
 *   residency p=1 acc=R op=fault pref=none accby=1 res=0 blkres=0 hint=none rd=unset dup=0 hmm=0 hmmsys=0
 *           migratable=1 force=0 samemm=1 ratomic=0 nomem=- procs=2 can=0/0-1 fast=-/- atom=0/1
 *   => dst=0 dup=0 near=0
 */
#include "vec_kind.h"

#include <string.h>

#include "vec_processor.h"
#include "uvmpolicy/residency.h"

static uint8_t take_accesses(struct vec_args *args)
{
	static const char letters[] = "PRWAS";
	const char *value = vec_text(args, "acc");
	const char *at = value;
	uint8_t set = 0;

	if (value == NULL)
		return 0;
	for (uint32_t access = 0; letters[access] != '\0'; access++)
		if (*at == letters[access]) {
			set |= (uint8_t)(1u << access);
			at++;
		}
	if (*at != '\0' || set == 0)
		vec_fail(args, "acc=%.80s is not accepted; letters of PRWAS in this order", value);
	return set;
}

static uint32_t take_hint(struct vec_args *args)
{
	const char *value = vec_text(args, "hint");
	uint64_t target = UVMP_PROC_NONE;

	if (value == NULL || strcmp(value, "none") == 0)
		return UVMP_PROC_NONE;
	if (strncmp(value, "pin:", 4) == 0) {
		const char *at = value + 4;

		if (vec_scan_number(&at, UVMP_PROCS_MAX - 1u, &target) && *at == '\0')
			return (uint32_t)target;
	}
	vec_fail(args, "hint=%.80s is not accepted; none or pin:PROCESSOR", value);
	return UVMP_PROC_NONE;
}

static void take_facts(struct vec_args *args, struct uvmp_residency_facts *facts)
{
	static const char *const operations[] = {"fault", "nrfault", "ac", NULL};
	static const char *const duplications[] = {"unset", "enabled", "disabled", NULL};
	bool is_system, is_fixed;

	facts->requester = vec_proc(args, "p");
	facts->accesses = take_accesses(args);
	facts->operation = (uint8_t)vec_choice(args, "op", operations);
	facts->preferred = vec_proc(args, "pref");
	facts->has_preferred = facts->preferred != UVMP_PROC_NONE;
	facts->accessed_by = vec_proc_set(args, "accby");
	facts->resident = vec_proc_set(args, "res");
	(void)vec_proc_set(args, "blkres"); /* a superset; never decides anything */
	facts->pin = take_hint(args);
	facts->has_pin = facts->pin != UVMP_PROC_NONE;
	facts->duplication = (uint8_t)vec_choice(args, "rd", duplications);
	facts->is_duplicated = vec_flag(args, "dup");
	facts->is_hmm = vec_flag(args, "hmm");
	is_system = vec_flag(args, "hmmsys");
	is_fixed = !vec_flag(args, "migratable");
	facts->is_hmm_system = is_system;
	facts->is_hmm_fixed = is_fixed;
	facts->is_system_forced = vec_flag(args, "force");
	facts->is_foreign = !vec_flag(args, "samemm");
	facts->maps_on_atomics = vec_flag(args, "ratomic");
}

static void residency_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct uvmp_residency_facts facts;
	struct uvmp_residency_place place;
	struct uvmp_processors processors;
	enum uvmp_status status;

	(void)state;
	(void)word;
	memset(&facts, 0, sizeof(facts));
	memset(&processors, 0, sizeof(processors));
	take_facts(args, &facts);
	processors.no_memory = vec_proc_set(args, "nomem");
	processors.count = (uint32_t)vec_number(args, "procs", 1, UVMP_PROCS_MAX);
	vec_proc_rows(args, "can", processors.count, processors.can_access);
	vec_proc_rows(args, "fast", processors.count, processors.fast_link);
	vec_proc_rows(args, "atom", processors.count, processors.native_atomics);
	if (args->failed)
		return;
	status = uvmp_residency_select(&processors, &facts, &place);
	if (status != UVMP_OK) {
		vec_fail(args, "the processors contradict each other, or a key names a missing processor: %s",
		         uvmp_status_text(status));
		return;
	}
	vec_printf(out, "=> dst=%u dup=%d near=", place.to, place.is_duplicate);
	vec_print_proc(out, place.nearest);
	vec_printf(out, "\n");
}

const struct vec_kind vec_residency = {.name = "residency", .line = residency_line};
