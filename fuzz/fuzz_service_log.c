/* Fuzzing of the decision log. The input is read twice. As text: a line that is accepted is printed byte for
 * byte again, one that is refused leaves the action alone and says where. As the bytes of an action: what can
 * be printed is read back field by field, what cannot leaves the text alone. Its transfers are those of the
 * definition, for any sets of pages and cuts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transfers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_service_log: not true: %s\n", what);
	abort();
}

static void check_text(const char *text, size_t length)
{
	struct uvmp_action action, before;
	char again[UVMP_ACTION_TEXT_MAX];
	size_t offset = SIZE_MAX;
	enum uvmp_status status;

	memset(&action, 0x2a, sizeof(action));
	memcpy(&before, &action, sizeof(action));
	status = uvmp_action_parse(text, length, &action, &offset);
	if (status != UVMP_OK) {
		check(status == UVMP_ERR_SYNTAX || status == UVMP_ERR_UNKNOWN || status == UVMP_ERR_RANGE,
		      "the status is one that the header names");
		check(memcmp(&action, &before, sizeof(action)) == 0, "a refused text changes nothing");
		check(offset <= length, "the error lies in the text");
		return;
	}
	check(uvmp_action_print(&action, again, sizeof(again)) == UVMP_OK, "what was read can be printed");
	check(strlen(again) == length && memcmp(again, text, length) == 0, "and is the same text");
	check(uvmp_action_print(&action, again, length) == UVMP_ERR_SPACE, "which needs a byte more");
}

/* Bytes of the input, then zeros. */
struct input {
	const uint8_t *at, *end;
};

static uint8_t take(struct input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

/* As many bytes as the first says, at most `most`: numbers of all lengths. */
static uint64_t take_number(struct input *input, unsigned most)
{
	uint64_t number = 0;

	for (unsigned bytes = take(input) % (most + 1); bytes > 0; bytes--)
		number = number << 8 | take(input);
	return number;
}

static void take_mask(struct input *input, uvmp_mask *mask)
{
	for (unsigned word = 0; word < UVMP_MASK_WORDS; word++)
		mask->word[word] = take_number(input, 8);
}

static void take_action(struct input *input, struct uvmp_action *action)
{
	memset(action, 0, sizeof(*action));
	action->kind = take(input) % (UVMP_ACTION_COUNT + 1);
	action->cause = take(input) % (UVMP_CAUSE_COUNT + 1);
	action->from = take(input) % (UVMP_PROC_NONE + 2);
	action->to = take(input) % (UVMP_PROC_NONE + 2);
	action->right = take(input) % 5;
	action->victim = take(input) % (UVMP_VICTIM_COUNT + 1);
	action->status = (int8_t)take(input);
	action->is_update = take(input) % 2 != 0;
	action->id = take_number(input, 8);
	action->after = take_number(input, 8);
	action->time_ns = take_number(input, 8);
	action->batch = (uint32_t)take_number(input, 4);
	action->count = (uint32_t)take_number(input, 4);
	action->detail = (uint32_t)take_number(input, 4);
	action->ticket = take_number(input, 8);
	action->offset = take_number(input, 8);
	action->until_ns = take_number(input, 8);
	action->space = take_number(input, 8);
	action->address = take_number(input, 8);
	action->for_address = take_number(input, 8);
	action->page_bytes = (uint32_t)take_number(input, 4);
	action->faulted = (uint32_t)take_number(input, 4);
	action->present = (uint32_t)take_number(input, 4);
	action->throttles = (uint32_t)take_number(input, 4);
	take_mask(input, &action->pages);
	take_mask(input, &action->cuts);
	take_mask(input, &action->subtrees);
}

static bool same(const struct uvmp_action *a, const struct uvmp_action *b)
{
	return a->id == b->id && a->after == b->after && a->time_ns == b->time_ns && a->kind == b->kind &&
	       a->cause == b->cause && a->from == b->from && a->to == b->to && a->right == b->right &&
	       a->is_update == b->is_update && a->victim == b->victim && a->status == b->status &&
	       a->batch == b->batch && a->count == b->count && a->detail == b->detail &&
	       a->ticket == b->ticket && a->offset == b->offset && a->until_ns == b->until_ns &&
	       a->space == b->space && a->address == b->address && a->for_address == b->for_address &&
	       a->page_bytes == b->page_bytes && a->faulted == b->faulted && a->present == b->present &&
	       a->throttles == b->throttles && uvmp_mask_equal(&a->cuts, &b->cuts) &&
	       uvmp_mask_equal(&a->subtrees, &b->subtrees) &&
	       uvmp_mask_equal(&a->pages, &b->pages);
}

/* The end of an action has a number, a time and a status. */
static bool is_completion_alone(const struct uvmp_action *a)
{
	struct uvmp_action rest = *a, empty = {.kind = UVMP_ACTION_COMPLETE,
	                                       .from = UVMP_PROC_NONE,
	                                       .to = UVMP_PROC_NONE};

	rest.id = rest.time_ns = 0;
	rest.status = 0;
	return same(&rest, &empty);
}

/* Only copies have cuts and subtrees, and cuts lie inside runs of pages. */
static bool are_bounds_well_formed(const struct uvmp_action *a)
{
	bool is_copy = a->kind == UVMP_ACTION_COPY || a->kind == UVMP_ACTION_POPULATE;

	for (uint32_t page = 0; page < UVMP_MASK_BITS; page++)
		if (uvmp_mask_test(&a->cuts, page) &&
		    (page == 0 || !uvmp_mask_test(&a->pages, page) || !uvmp_mask_test(&a->pages, page - 1)))
			return false;
	return is_copy || (uvmp_mask_is_empty(&a->cuts) && uvmp_mask_is_empty(&a->subtrees));
}

/* The largest victim, or rule, that an action of the kind can have. */
static uint32_t victims_of(uint32_t kind)
{
	if (kind == UVMP_ACTION_COPY || kind == UVMP_ACTION_POPULATE || kind == UVMP_ACTION_MAP || kind == UVMP_ACTION_CLEAR)
		return UVMP_RULE_COUNT - 1;
	return kind == UVMP_ACTION_EVICT ? UVMP_VICTIM_COUNT - 1 : 0;
}

/* May it be printed? As the header says it. */
static bool is_well_formed(const struct uvmp_action *a)
{
	uint8_t rights = a->kind == UVMP_ACTION_MAP || a->kind == UVMP_ACTION_REVOKE ? 3
	                 : a->kind == UVMP_ACTION_CANCEL                             ? 1
	                                                                             : 0;

	if (a->kind == UVMP_ACTION_COMPLETE && !is_completion_alone(a))
		return false;
	if (!are_bounds_well_formed(a))
		return false;
	return a->kind < UVMP_ACTION_COUNT && a->cause < UVMP_CAUSE_COUNT && a->from <= UVMP_PROC_NONE &&
	       a->to <= UVMP_PROC_NONE && a->right <= rights && a->status <= 0 &&
	       a->victim <= victims_of(a->kind);
}

static void check_action(const struct uvmp_action *action)
{
	char text[UVMP_ACTION_TEXT_MAX] = "as before";
	enum uvmp_status status = uvmp_action_print(action, text, sizeof(text));
	struct uvmp_action again;

	check((status == UVMP_OK) == is_well_formed(action), "what is well-formed is printed, nothing else");
	if (status != UVMP_OK) {
		check(status == UVMP_ERR_RANGE && strcmp(text, "as before") == 0,
		      "a refused action leaves the text alone");
		return;
	}
	check(uvmp_action_parse(text, strlen(text), &again, NULL) == UVMP_OK, "what was printed can be read");
	check(same(action, &again), "and is the same action");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, data + size};
	struct uvmp_action action;

	check_text((const char *)data, size);
	take_action(&input, &action);
	check(transfers_are_right(&action, action.detail % (UVMP_MASK_BITS + 1u)),
	      "the transfers are those of the definition");
	check_action(&action);
	return 0;
}
