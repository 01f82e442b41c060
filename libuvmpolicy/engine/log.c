/* The decision log: one table of fields in the order of the line, and a printer and a parser that know
 * nothing but the table.
 *
 * Both work on a flat array with one number per field; only load() and store() know where a field lives in
 * struct uvmp_action. The printer goes down the table and leaves out what holds nothing. The parser goes down
 * the same table and takes a field where the text names it; what is left over at the end is an error. It
 * takes only what the printer gives (no leading zeros, no field that could be left out, runs of pages
 * joined), so that printing brings back every text that was accepted.
 */
#include "../base/text_internal.h"
#include "../decisions/plan_internal.h"
#include "uvmpolicy/fault.h"
#include "uvmpolicy/mask.h"
#include "uvmpolicy/service.h"

enum field {
	TIME,
	AFTER,
	CAUSE,
	SPACE,
	BLOCK,
	PAGES,
	PAGE_BYTES,
	FROM,
	TO,
	RIGHT,
	MODE,
	VICTIM,
	RULE,
	FOR,
	BATCH,
	COUNT,
	DETAIL,
	OFFSET,
	UPDATE,
	UNTIL,
	FAULTED,
	PRESENT,
	THROTTLES,
	CUTS,
	SUBTREES,
	TICKET,
	STATUS,
	FIELDS
};

/* What stands behind the `=`. From KINDS on: a word. */
enum format { DECIMAL, HEXADECIMAL, NEGATIVE, MASK, KINDS, CAUSES, RIGHTS, MODES, VICTIMS, RULES };

struct row {
	char key[12];
	enum format format;
	uint64_t max;	/* of the number, or number of the last word */
	uint64_t none;	/* says nothing and is left out */
	uint32_t kinds; /* bit k: actions of kind k have it */
	bool is_kept;	/* is never left out */
};

#define KIND(name) (1u << (uint32_t)UVMP_ACTION_##name)
#define EVERY_KIND (KIND(COUNT) - 1u)
#define DECISIONS  (EVERY_KIND & ~KIND(COMPLETE))
/* Key, format, greatest value: of every decision, left out if 0. */
#define ROW(key, format, max)                                                                                \
	{                                                                                                    \
		key, format, max, 0, DECISIONS, false                                                        \
	}
#define PROCESSOR(key)                                                                                       \
	{                                                                                                    \
		key, DECIMAL, UVMP_PROCS_MAX - 1u, UVMP_PROC_NONE, DECISIONS, false                          \
	}

static const struct row table[FIELDS] = {
	[TIME] = {"t", DECIMAL, UINT64_MAX, 0, EVERY_KIND, true},
	[AFTER] = ROW("after", DECIMAL, UINT64_MAX),
	[CAUSE] = ROW("cause", CAUSES, UVMP_CAUSE_COUNT - 1),
	[SPACE] = ROW("space", DECIMAL, UINT64_MAX),
	[BLOCK] = ROW("block", HEXADECIMAL, UINT64_MAX),
	[PAGES] = ROW("pages", MASK, UVMP_MASK_BITS),
	[PAGE_BYTES] = ROW("page_bytes", DECIMAL, UINT32_MAX),
	[FROM] = PROCESSOR("from"),
	[TO] = PROCESSOR("to"),
	[RIGHT] = {"right", RIGHTS, UVMP_RIGHT_READ_WRITE_ATOMIC, 0, KIND(MAP) | KIND(REVOKE), false},
	[MODE] = {"mode", MODES, UVMP_CANCEL_WRITE_AND_ATOMIC, 0, KIND(CANCEL), true},
	[VICTIM] = {"victim", VICTIMS, UVMP_VICTIM_COUNT - 1, 0, KIND(EVICT), true},
	[RULE] = {"rule", RULES, UVMP_RULE_COUNT - 1, 0,
		  KIND(POPULATE) | KIND(COPY) | KIND(MAP) | KIND(CLEAR), false},
	[FOR] = ROW("for", HEXADECIMAL, UINT64_MAX),
	[BATCH] = ROW("batch", DECIMAL, UINT32_MAX),
	[COUNT] = ROW("count", DECIMAL, UINT32_MAX),
	[DETAIL] = ROW("detail", DECIMAL, UINT32_MAX),
	[OFFSET] = ROW("offset", HEXADECIMAL, UINT64_MAX),
	[UPDATE] = ROW("update", DECIMAL, 1),
	[UNTIL] = ROW("until", DECIMAL, UINT64_MAX),
	[FAULTED] = ROW("faulted", DECIMAL, UINT32_MAX),
	[PRESENT] = ROW("present", DECIMAL, UINT32_MAX),
	[THROTTLES] = ROW("throttles", DECIMAL, UINT32_MAX),
	[CUTS] = {"cuts", MASK, UVMP_MASK_BITS, 0, KIND(POPULATE) | KIND(COPY), false},
	[SUBTREES] = {"subtrees", MASK, UVMP_MASK_BITS, 0, KIND(POPULATE) | KIND(COPY), false},
	[TICKET] = ROW("ticket", DECIMAL, UINT64_MAX),
	[STATUS] = {"status", NEGATIVE, 128, 0, EVERY_KIND, false},
};

/* -- words -- */

const char *uvmp_action_name(enum uvmp_action_kind kind)
{
	static const char name[UVMP_ACTION_COUNT][12] = {
		"batch",   "allocate", "populate", "copy",   "unmap", "map",	  "revoke", "evict",
		"discard", "free",     "flush",	   "replay", "wait",  "throttle", "cancel", "clear",
		"toggle",  "limit",    "pattern",  "unpin",  "done",  "complete"};

	return (uint32_t)kind < UVMP_ACTION_COUNT ? name[kind] : NULL;
}

const char *uvmp_cause_name(enum uvmp_cause cause)
{
	static const char name[UVMP_CAUSE_COUNT][12] = {
		"none",	   "demand", "prefetch",  "eviction", "counter", "pin",	  "hint",
		"migrate", "revoke", "thrashing", "fatal",    "free",	 "adapt", "error"};

	return (uint32_t)cause < UVMP_CAUSE_COUNT ? name[cause] : NULL;
}

/* Word of a format that has words; `number` is not above the format's last. */
static const char *word_of(enum format format, uint64_t number)
{
	static const char right[][4] = {"", "r", "rw", "rwa"}, mode[][8] = {"all", "write"};
	static const char victim[][12] = {"free",  "unused", "discarded", "used",
					  "order", "oldest", "newest",	  "sample"};
	static const char rule[][16] = {"",	       "fits",	"whole", "dense", "sparse",	 "probe-dense",
					"probe-sparse", "rest",	"ahead", "limit", "drawn",	 "idle",
					"expected",	"below-limit",	"not-drawn", "full", "short"};

	_Static_assert(sizeof(victim) / sizeof(victim[0]) == UVMP_VICTIM_COUNT, "each kind of victim has a word");
	_Static_assert(sizeof(rule) / sizeof(rule[0]) == UVMP_RULE_COUNT, "each rule has a word");
	if (format == KINDS)
		return uvmp_action_name((enum uvmp_action_kind)number);
	if (format == CAUSES)
		return uvmp_cause_name((enum uvmp_cause)number);
	if (format == RIGHTS)
		return right[number];
	if (format == MODES)
		return mode[number];
	return format == RULES ? rule[number] : victim[number];
}

/* -- the action as numbers -- */

static bool has_field(uint32_t kind, const struct row *row)
{
	return (row->kinds >> kind & 1u) != 0;
}

/* Does each cut lie inside a run of the pages? */
static bool is_cutting(const uvmp_mask *pages, const uvmp_mask *cuts)
{
	uvmp_mask inside;

	uvmpi_cuts_inside(&inside, pages, cuts);
	return uvmpi_mask_equal(&inside, cuts);
}

/* The set of a field with the format MASK. */
static const uvmp_mask *mask_of(const struct uvmp_action *action, uint32_t field)
{
	if (field == PAGES)
		return &action->pages;
	return field == CUTS ? &action->cuts : &action->subtrees;
}

static void load(const struct uvmp_action *action, uint64_t value[FIELDS])
{
	bool is_cancel = action->kind == UVMP_ACTION_CANCEL;
	bool has_rule = has_field(action->kind, &table[RULE]);

	value[TIME] = action->time_ns;
	value[AFTER] = action->after;
	value[CAUSE] = action->cause;
	value[SPACE] = action->space;
	value[BLOCK] = action->address;
	value[PAGES] = uvmp_mask_weight(&action->pages);
	value[PAGE_BYTES] = action->page_bytes;
	value[FROM] = action->from;
	value[TO] = action->to;
	value[RIGHT] = is_cancel ? 0 : action->right;
	value[MODE] = is_cancel ? action->cancel_mode : 0;
	value[VICTIM] = has_rule ? 0 : action->victim;
	value[RULE] = has_rule ? action->rule : 0;
	value[FOR] = action->for_address;
	value[BATCH] = action->batch;
	value[COUNT] = action->count;
	value[DETAIL] = action->detail;
	value[OFFSET] = action->offset;
	value[UPDATE] = action->is_update;
	value[UNTIL] = action->until_ns;
	value[FAULTED] = action->faulted;
	value[PRESENT] = action->present;
	value[THROTTLES] = action->throttles;
	/* A set with other cuts becomes too large to be printed. */
	value[CUTS] = is_cutting(&action->pages, &action->cuts) ? uvmp_mask_weight(&action->cuts)
								: UINT64_MAX;
	value[SUBTREES] = uvmp_mask_weight(&action->subtrees);
	value[TICKET] = action->ticket;
	/* Without its sign: one above 0, which is no error, becomes too large to be printed. */
	value[STATUS] = (uint64_t)0 - (uint64_t)(int64_t)action->status;
}

/* All but id, kind and sets. */
static void store(const uint64_t value[FIELDS], struct uvmp_action *action)
{
	action->time_ns = value[TIME];
	action->after = value[AFTER];
	action->cause = (uint8_t)value[CAUSE];
	action->space = value[SPACE];
	action->address = value[BLOCK];
	action->page_bytes = (uint32_t)value[PAGE_BYTES];
	action->from = (uint8_t)value[FROM];
	action->to = (uint8_t)value[TO];
	action->right = (uint8_t)(value[RIGHT] + value[MODE]); /* no kind has both */
	action->victim = (uint8_t)(value[VICTIM] + value[RULE]); /* no kind has both */
	action->for_address = value[FOR];
	action->batch = (uint32_t)value[BATCH];
	action->count = (uint32_t)value[COUNT];
	action->detail = (uint32_t)value[DETAIL];
	action->offset = value[OFFSET];
	action->is_update = value[UPDATE] != 0;
	action->until_ns = value[UNTIL];
	action->faulted = (uint32_t)value[FAULTED];
	action->present = (uint32_t)value[PRESENT];
	action->throttles = (uint32_t)value[THROTTLES];
	action->ticket = value[TICKET];
	action->status = (int8_t) - (int32_t)value[STATUS];
}

/* -- printing -- */

static void put_run(struct text *text, struct uvmp_region run)
{
	put_number(text, run.first);
	if (run.end > run.first + 1) {
		put_char(text, '-');
		put_number(text, run.end - 1);
	}
}

static void put_pages(struct text *text, const uvmp_mask *pages)
{
	struct uvmp_region run = uvmp_mask_next_run(pages, 0);

	while (run.end > 0) {
		put_run(text, run);
		run = uvmp_mask_next_run(pages, run.end);
		if (run.end > 0)
			put_char(text, ',');
	}
}

static void put_value(struct text *text, enum format format, uint64_t value, const uvmp_mask *mask)
{
	if (format == MASK) {
		put_pages(text, mask);
	} else if (format >= KINDS) {
		put_text(text, word_of(format, value));
	} else {
		put_text(text, format == HEXADECIMAL ? "0x" : format == NEGATIVE ? "-" : "");
		uvmpi_text_number(text, value, format == HEXADECIMAL ? 16 : 10);
	}
}

static void put_action(struct text *text, const struct uvmp_action *action, const uint64_t value[FIELDS])
{
	put_number(text, action->id);
	put_char(text, ' ');
	put_text(text, uvmp_action_name((enum uvmp_action_kind)action->kind));
	for (uint32_t f = 0; f < FIELDS; f++) {
		if (!has_field(action->kind, &table[f]) || (value[f] == table[f].none && !table[f].is_kept))
			continue;
		put_char(text, ' ');
		put_text(text, table[f].key);
		put_char(text, '=');
		put_value(text, table[f].format, value[f], mask_of(action, f));
	}
}

/* Could it be read back? */
static bool is_printable(uint32_t kind, const uint64_t value[FIELDS])
{
	for (uint32_t f = 0; f < FIELDS; f++)
		if (value[f] != table[f].none && (!has_field(kind, &table[f]) || value[f] > table[f].max))
			return false;
	return true;
}

enum uvmp_status uvmp_action_print(const struct uvmp_action *action, char *text, size_t capacity)
{
	struct text measure = {NULL, 0, 0}, out = {text, capacity, 0};
	uint64_t value[FIELDS];

	if (action == NULL || text == NULL)
		return UVMP_ERR_ARGUMENT;
	if (action->kind >= UVMP_ACTION_COUNT)
		return UVMP_ERR_RANGE;
	load(action, value);
	if (!is_printable(action->kind, value))
		return UVMP_ERR_RANGE;
	put_action(&measure, action, value);
	if (measure.length >= capacity)
		return UVMP_ERR_SPACE;
	put_action(&out, action, value);
	return UVMP_OK;
}

enum uvmp_status uvmp_completion_print(uint64_t id, uint64_t time_ns, enum uvmp_status status, char *text,
				       size_t capacity)
{
	struct uvmp_action action = {.id = id,
				     .time_ns = time_ns,
				     .kind = UVMP_ACTION_COMPLETE,
				     .from = UVMP_PROC_NONE,
				     .to = UVMP_PROC_NONE,
				     .status = (int8_t)status};

	return action.status == status ? uvmp_action_print(&action, text, capacity) : UVMP_ERR_RANGE;
}

/* -- parsing -- */

struct reader {
	const char *text;
	size_t length, at;
};

struct fields {
	uint64_t value[FIELDS];
	uvmp_mask pages, cuts, subtrees;
};

static enum uvmp_status fail_at(struct reader *reader, size_t at, enum uvmp_status status)
{
	reader->at = at;
	return status;
}

static bool take_char(struct reader *reader, char c)
{
	if (reader->at == reader->length || reader->text[reader->at] != c)
		return false;
	reader->at++;
	return true;
}

/* Takes `text` and what must stand behind it, or nothing. */
static bool take_text(struct reader *reader, const char *text, char behind)
{
	size_t start = reader->at;

	while (*text != '\0' && take_char(reader, *text))
		text++;
	if (*text == '\0' && take_char(reader, behind))
		return true;
	reader->at = start;
	return false;
}

/* Value of the digit at hand; 16: there is none. */
static uint32_t peek_digit(const struct reader *reader)
{
	char c = reader->at < reader->length ? reader->text[reader->at] : ' ';

	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10u : 16u;
}

static enum uvmp_status take_number(struct reader *reader, uint32_t base, uint64_t max, uint64_t *number)
{
	size_t start = reader->at;
	uint64_t n = 0;

	for (uint32_t digit; (digit = peek_digit(reader)) < base; reader->at++) {
		if (digit > max || n > (max - digit) / base)
			return fail_at(reader, start, UVMP_ERR_RANGE);
		n = n * base + digit;
	}
	if (reader->at == start || (reader->text[start] == '0' && reader->at > start + 1))
		return fail_at(reader, start, UVMP_ERR_SYNTAX);
	*number = n;
	return UVMP_OK;
}

/* A word of the format, up to a blank or the end. */
static enum uvmp_status take_word(struct reader *reader, enum format format, uint64_t last, uint64_t *number)
{
	struct reader word = {.text = reader->text, .length = reader->at};

	while (word.length < reader->length && word.text[word.length] != ' ')
		word.length++;
	for (uint64_t i = 0; i <= last; i++) {
		const char *name = word_of(format, i);

		word.at = reader->at;
		while (*name != '\0' && take_char(&word, *name))
			name++;
		if (*name == '\0' && word.at == word.length) {
			reader->at = word.at;
			*number = i;
			return UVMP_OK;
		}
	}
	return UVMP_ERR_UNKNOWN;
}

/* FIRST-LAST, or PAGE; not before page `least`. */
static enum uvmp_status take_run(struct reader *reader, uint32_t least, struct uvmp_region *run)
{
	size_t start = reader->at;
	uint64_t first, last;
	enum uvmp_status status = take_number(reader, 10, UVMP_MASK_BITS - 1u, &first);

	if (status != UVMP_OK)
		return status;
	if (first < least)
		return fail_at(reader, start, UVMP_ERR_SYNTAX);
	last = first;
	if (take_char(reader, '-')) {
		status = take_number(reader, 10, UVMP_MASK_BITS - 1u, &last);
		if (status != UVMP_OK)
			return status;
		if (last <= first)
			return fail_at(reader, start, UVMP_ERR_SYNTAX);
	}
	*run = (struct uvmp_region){(uint32_t)first, (uint32_t)last + 1};
	return UVMP_OK;
}

/* Adds runs to the empty set; they are in ascending order, with a gap of at least one page between them;
 * `*weight` counts the pages. */
static enum uvmp_status take_pages(struct reader *reader, uvmp_mask *pages, uint64_t *weight)
{
	struct uvmp_region run;
	uint32_t least = 0;

	do {
		enum uvmp_status status = take_run(reader, least, &run);

		if (status != UVMP_OK)
			return status;
		uvmp_mask_region_set(pages, run);
		least = run.end + 1;
	} while (take_char(reader, ','));
	*weight = uvmp_mask_weight(pages);
	return UVMP_OK;
}

static enum uvmp_status take_mask(struct reader *reader, uint32_t field, struct fields *fields)
{
	size_t start = reader->at;
	enum uvmp_status status;

	if (field == PAGES)
		return take_pages(reader, &fields->pages, &fields->value[PAGES]);
	if (field == SUBTREES)
		return take_pages(reader, &fields->subtrees, &fields->value[SUBTREES]);
	status = take_pages(reader, &fields->cuts, &fields->value[CUTS]);
	if (status == UVMP_OK && !is_cutting(&fields->pages, &fields->cuts))
		return fail_at(reader, start, UVMP_ERR_SYNTAX);
	return status;
}

static enum uvmp_status take_value(struct reader *reader, const struct row *row, uint64_t *value)
{
	size_t start = reader->at;
	enum uvmp_status status;

	if (row->format >= KINDS)
		status = take_word(reader, row->format, row->max, value);
	else if (row->format == HEXADECIMAL && !take_text(reader, "0", 'x'))
		return UVMP_ERR_SYNTAX;
	else if (row->format == NEGATIVE && !take_char(reader, '-'))
		return UVMP_ERR_SYNTAX;
	else
		status = take_number(reader, row->format == HEXADECIMAL ? 16 : 10, row->max, value);
	if (status == UVMP_OK && *value == row->none && !row->is_kept)
		return fail_at(reader, start, UVMP_ERR_SYNTAX);
	return status;
}

/* ` key=`, or nothing. */
static bool take_key(struct reader *reader, const struct row *row)
{
	size_t start = reader->at;

	if (take_char(reader, ' ') && take_text(reader, row->key, '='))
		return true;
	reader->at = start;
	return false;
}

/* The word where a field or the end was expected: a field out of order, or an unknown one. */
static enum uvmp_status refuse_rest(struct reader *reader)
{
	size_t start = reader->at;

	if (!take_char(reader, ' '))
		return UVMP_ERR_SYNTAX;
	for (uint32_t f = 0; f < FIELDS; f++)
		if (take_text(reader, table[f].key, '='))
			return fail_at(reader, start + 1, UVMP_ERR_SYNTAX);
	return UVMP_ERR_UNKNOWN;
}

static enum uvmp_status take_fields(struct reader *reader, uint32_t kind, struct fields *fields)
{
	for (uint32_t f = 0; f < FIELDS; f++) {
		enum uvmp_status status;

		fields->value[f] = table[f].none;
		if (!has_field(kind, &table[f]))
			continue;
		if (!take_key(reader, &table[f])) {
			if (table[f].is_kept)
				return UVMP_ERR_SYNTAX;
			continue;
		}
		status = table[f].format == MASK ? take_mask(reader, f, fields)
						 : take_value(reader, &table[f], &fields->value[f]);
		if (status != UVMP_OK)
			return status;
	}
	return reader->at == reader->length ? UVMP_OK : refuse_rest(reader);
}

static enum uvmp_status take_line(struct reader *reader, uint64_t *id, uint64_t *kind, struct fields *fields)
{
	enum uvmp_status status = take_number(reader, 10, UINT64_MAX, id);

	if (status != UVMP_OK)
		return status;
	if (!take_char(reader, ' '))
		return UVMP_ERR_SYNTAX;
	status = take_word(reader, KINDS, UVMP_ACTION_COUNT - 1, kind);
	return status != UVMP_OK ? status : take_fields(reader, (uint32_t)*kind, fields);
}

enum uvmp_status uvmp_action_parse(const char *text, size_t length, struct uvmp_action *action,
				   size_t *offset)
{
	struct reader reader = {text, length, 0};
	struct fields fields = {.value = {0}};
	uint64_t id = 0, kind = 0;
	enum uvmp_status status = UVMP_ERR_ARGUMENT;

	if (text != NULL && action != NULL)
		status = take_line(&reader, &id, &kind, &fields);
	if (status != UVMP_OK) {
		if (offset != NULL)
			*offset = reader.at;
		return status;
	}
	action->id = id;
	action->kind = (uint8_t)kind;
	store(fields.value, action);
	action->pages = fields.pages;
	action->cuts = fields.cuts;
	action->subtrees = fields.subtrees;
	return UVMP_OK;
}
