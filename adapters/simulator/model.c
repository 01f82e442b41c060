/* Reader of the model files, and the time of a transfer.
 *
 * A file is read line by line into the fields of a table; a line number is kept for each field, so that
 * repeated keys are found and what the GPU's own file sets is not overwritten by the host's file that it
 * includes. */
#include "nearest.h"
#include "number.h"
#include "model.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli.h"
#include "lines.h"

#define INCLUDES_MAX	  4u /* GPUs that include each other */
#define REQUEST_BYTES_MAX 1000000u

enum kind { GPU, HOST, LINK };

static const char *const endings[] = {".gpu", ".host", ".link"};

struct field {
	const char *key;
	size_t at;
	bool is_wide; /* uint64_t, else uint32_t */
	uint64_t min, max;
	bool is_optional; /* 0 where a file lacks it: files of users that are older than the key */
};

#define ANY_FIELD(key, min, max, is_optional)                                                                \
	{                                                                                                    \
#key, offsetof(struct model, key), sizeof(((struct model *)0)->key) == 8, min, max,          \
			is_optional                                                                          \
	}
#define FIELD(key, min, max) ANY_FIELD(key, min, max, false)
#define COST(key)	     FIELD(key, 0, 1000000000)

static const struct field fields[] = {
	FIELD(sms, 1, 1024),
	FIELD(warps_per_sm, 1, 256),
	FIELD(blocks_per_sm, 1, 256),
	FIELD(context_bytes, 0, 65536),
	FIELD(sms_per_utlb, 1, 64),
	FIELD(utlb_entries, 1, MODEL_UTLB_ENTRIES_MAX),
	FIELD(utlb_faults, 1, 65536),
	FIELD(l2_tlb_entries, 1, 1048576),
	FIELD(tlb_entry_bytes, 4096, 2097152),
	FIELD(walk_ns, 0, 1000000),
	FIELD(l2_tlb_ns, 0, 1000000),
	FIELD(tlb_shootdown, MODEL_SHOOTDOWN_ENTRY, MODEL_SHOOTDOWN_WHOLE),
	FIELD(clock_mhz, 1, 100000),
	FIELD(gflops, 1, 100000000),
	ANY_FIELD(gflops_64, 0, 100000000, true),
	ANY_FIELD(executes_code, 0, 1, true),
	FIELD(memory_bytes, 2097152, UINT64_C(1) << 44),
	FIELD(memory_mb_s, 1024, 1000000000),
	FIELD(memory_latency_ns, 1, 1000000),
	ANY_FIELD(memory_spread_ns, 0, 1000000, true),
	FIELD(remote_latency_ns, 0, 1000000),
	FIELD(page_bytes, 4096, 65536),
	FIELD(fault_entries, 32, 65536),
	FIELD(fault_write_ns, 0, 1000000),
	FIELD(fault_burst_ns, 1, 1000),
	FIELD(mshr_entries, 0, 1048576),
	ANY_FIELD(lock_holds, 0, 1, true),
	COST(replay_ns),
	COST(launch_ns),
	COST(interrupt_ns),
	COST(wakeup_ns),
	COST(batch_ns),
	COST(fetch_ns),
	COST(order_ns),
	COST(fault_ns),
	ANY_FIELD(skip_ns, 0, 1000000000, true),
	COST(block_ns),
	COST(page_ns),
	COST(alloc_ns),
	FIELD(alloc_roots, 1, 65536),
	FIELD(zero_mb_s, 1, 1000000000),
	COST(unmap_ns),
	COST(unmap_page_ns),
	COST(copy_ns),
	COST(map_ns),
	COST(map_page_ns),
	COST(evict_ns),
	COST(replay_push_ns),
	COST(flush_ns),
	COST(flush_entry_ns),
	COST(cpu_fault_ns),
	COST(prefetch_call_ns),
	COST(prefetch_defer_ns),
	FIELD(sync_frees, 0, 1),
	ANY_FIELD(counts_units, 0, 1, true),
	ANY_FIELD(has_ats, 0, 1, true),
	ANY_FIELD(range_bytes, 0, 2097152, true),
	ANY_FIELD(remote_miss_ns, 0, 1000000, true),
	ANY_FIELD(coalesces, 0, 1, true),
	ANY_FIELD(maps_copies, 0, 1, true),
	ANY_FIELD(cycle_batches, 0, 1, true),
	ANY_FIELD(frees_at_start, 0, 1, true),
	ANY_FIELD(queues_copies, 0, 1, true),
	ANY_FIELD(holds_memory, 0, 1, true),
	ANY_FIELD(lists_arrivals, 0, 1, true),
	ANY_FIELD(retires_idle, 0, 1, true),
	ANY_FIELD(keeps_faults, 0, 1, true),
	ANY_FIELD(data_on_cpu, 0, 1, true),
	ANY_FIELD(rounds_ranges, 0, 1, true),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Reading one file. */
struct parse {
	struct line_reader reader;
	enum kind kind;
	char file[MODEL_NAME_MAX]; /* for errors */
	const char *folder;	   /* the user's file that named this one, for relative paths; NULL: none */
	char *error;
	/* the line that has set it, 0: none */
	uint64_t title_line, source_line, link_line, include_line;
	uint64_t latency_line, table_line, formula_line, gbps_line, clock_line;
	uint64_t request_line[MODEL_DIRECTIONS];
	uint64_t line[FIELDS];
	char link[MODEL_NAME_MAX], include[MODEL_NAME_MAX];
	char title[MODEL_TITLE_MAX], source[MODEL_SOURCE_MAX];
};

__attribute__((format(printf, 3, 4))) static bool bad_at(struct parse *parse, uint64_t line,
							 const char *format, ...)
{
	char text[MODEL_ERROR_MAX - MODEL_NAME_MAX - 32];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snprintf(parse->error, MODEL_ERROR_MAX, "%s:%llu: %s", parse->file,
		 (unsigned long long)(line ? line : 1), text);
	return false;
}

/* -- finding files -- */

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);

	return length > tail && strcmp(text + length - tail, ending) == 0;
}

static bool is_path(const char *name, enum kind kind)
{
	return strchr(name, '/') != NULL || ends_with(name, endings[kind]);
}

/* The nearest built-in name, as a hint, and for GPUs all of them. */
static void describe_built_in(const char *name, enum kind kind, char text[MODEL_ERROR_MAX])
{
	char hint[NEAREST_TEXT_MAX], names[32][NEAREST_TEXT_MAX / 2], all[MODEL_ERROR_MAX] = "";
	struct nearest nearest;
	unsigned count = 0;

	nearest_start(&nearest, name, strlen(name));
	for (const struct model_file *file = model_files; file->name && count < 32; file++) {
		if (!ends_with(file->name, endings[kind]))
			continue;
		snprintf(names[count], sizeof(names[count]), "%.*s",
			 (int)(strlen(file->name) - strlen(endings[kind])), file->name);
		nearest_try(&nearest, names[count]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", count > 0 ? ", " : "",
			 names[count]);
		count++;
	}
	snprintf(text, MODEL_ERROR_MAX, "%s; there are: %.300s", nearest_hint(&nearest, hint), all);
}

static const struct model_file *find_built_in(const char *name, enum kind kind)
{
	size_t length = strlen(name);

	for (const struct model_file *file = model_files; file->name; file++) {
		if (strncmp(file->name, name, length) == 0 && strcmp(file->name + length, endings[kind]) == 0)
			return file;
	}
	return NULL;
}

/* A path that stands in a file counts from the folder of that file. */
static bool full_path(const char *name, const char *from, char path[MODEL_NAME_MAX])
{
	const char *slash = from && name[0] != '/' ? strrchr(from, '/') : NULL;
	int length;

	while (slash && strncmp(name, "./", 2) == 0)
		name += 2;
	length = snprintf(path, MODEL_NAME_MAX, "%.*s%s", slash ? (int)(slash + 1 - from) : 0,
			  slash ? from : "", name);

	return length > 0 && length < MODEL_NAME_MAX;
}

/* NULL with parse->error, which has no line of its own yet: the caller knows the source. */
static FILE *open_file(struct parse *parse, const char *name, const char *from)
{
	const struct model_file *file = find_built_in(name, parse->kind);
	char known[MODEL_ERROR_MAX];
	FILE *in;

	if (!is_path(name, parse->kind)) {
		if (!file) {
			describe_built_in(name, parse->kind, known);
			snprintf(parse->error, MODEL_ERROR_MAX,
				 "there is no %s \"%.100s\"%.300s; a file of yours is named with its path",
				 parse->kind == GPU    ? "GPU model"
				 : parse->kind == HOST ? "host or GPU model"
						       : "link",
				 name, known);
			return NULL;
		}
		snprintf(parse->file, sizeof(parse->file), "%s", file->name);
		in = fmemopen((void *)(uintptr_t)file->bytes, file->length, "r");
	} else {
		if (!full_path(name, from, parse->file)) {
			snprintf(parse->error, MODEL_ERROR_MAX, "the path \"%.100s...\" is too long", name);
			return NULL;
		}
		parse->folder = parse->file;
		in = fopen(parse->file, "r");
	}
	if (!in)
		snprintf(parse->error, MODEL_ERROR_MAX, "%s: %s", parse->file, strerror(errno));
	return in;
}

/* -- lines -- */

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " ");
	for (length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
		text[length - 1] = '\0';
	return text;
}

static bool once(struct parse *parse, const char *key, uint64_t *line)
{
	if (*line != 0)
		return bad_at(parse, parse->reader.number, "%s is given twice; the first is in line %llu",
			      key, (unsigned long long)*line);
	*line = parse->reader.number;
	return true;
}

static bool take_text(struct parse *parse, const char *key, const char *value, uint64_t *line, char *out,
		      size_t room)
{
	if (!once(parse, key, line))
		return false;
	if (strlen(value) >= room)
		return bad_at(parse, *line, "%s is longer than %zu bytes", key, room - 1);
	memcpy(out, value, strlen(value) + 1);
	return true;
}

/* A number at *text, up to a blank or the end; moves *text past it. */
static bool take_number(struct parse *parse, const char *key, const char **text, uint64_t min, uint64_t max,
			uint64_t *number)
{
	int length = (int)strcspn(*text, " ");
	enum number_status status = number_decimal(*text, (size_t)length, number);

	if (status == NUMBER_BAD)
		return bad_at(parse, parse->reader.number, "%s: \"%.*s\" is not a whole number", key,
			      length < 60 ? length : 60, *text);
	if (status == NUMBER_TOO_LARGE || *number < min || *number > max)
		return bad_at(parse, parse->reader.number, "%s: %.*s is out of range, %llu..%llu", key,
			      length < 60 ? length : 60, *text, (unsigned long long)min,
			      (unsigned long long)max);
	*text += length;
	*text += strspn(*text, " ");
	return true;
}

static bool is_last(struct parse *parse, const char *key, const char *rest)
{
	return *rest == '\0' || bad_at(parse, parse->reader.number, "%s: \"%.60s\" is too much", key, rest);
}

static bool is_power_of_two(uint64_t number)
{
	return (number & (number - 1)) == 0;
}

/* The one field whose values have names. */
static bool take_shootdown(struct parse *parse, struct model *model, const char *value)
{
	bool is_entry = strcmp(value, "entry") == 0;

	if (!is_entry && strcmp(value, "whole") != 0)
		return bad_at(parse, parse->reader.number, "tlb_shootdown: entry or whole");
	model->tlb_shootdown = is_entry ? MODEL_SHOOTDOWN_ENTRY : MODEL_SHOOTDOWN_WHOLE;
	return true;
}

static bool take_field(struct parse *parse, struct model *model, const struct field *field, const char *value)
{
	uint64_t *line = &parse->line[field - fields];
	uint64_t number;
	uint32_t narrow;

	if (!once(parse, field->key, line))
		return false;
	if (field->at == offsetof(struct model, tlb_shootdown))
		return take_shootdown(parse, model, value);
	if (!take_number(parse, field->key, &value, field->min, field->max, &number) ||
	    !is_last(parse, field->key, value))
		return false;
	if (field->at == offsetof(struct model, page_bytes) && number != 4096 && number != 65536)
		return bad_at(parse, *line, "page_bytes: 4096 or 65536");
	if (field->at == offsetof(struct model, tlb_entry_bytes) && !is_power_of_two(number))
		return bad_at(parse, *line, "tlb_entry_bytes: not a power of two");
	if (field->is_wide) {
		memcpy((char *)model + field->at, &number, sizeof(number));
	} else {
		narrow = (uint32_t)number;
		memcpy((char *)model + field->at, &narrow, sizeof(narrow));
	}
	return true;
}

static bool take_point(struct parse *parse, struct model_link *link, enum model_direction direction,
		       const char *key, const char *value)
{
	struct model_point *last = &link->point[direction][link->points[direction]], *before = last - 1;

	if (link->points[direction] == MODEL_POINTS_MAX)
		return bad_at(parse, parse->reader.number, "%s: more than %u points", key, MODEL_POINTS_MAX);
	/* up to 4 GiB: then products in model_link_time fit 64 bits */
	if (!take_number(parse, key, &value, 1, UINT32_MAX, &last->bytes))
		return false;
	if (*value == '\0')
		return bad_at(parse, parse->reader.number, "%s: two numbers, BYTES MB_PER_S", key);
	if (!take_number(parse, key, &value, 1, 100000000, &last->mb_s) || !is_last(parse, key, value))
		return false;
	last->ns = (last->bytes * 1000 + last->mb_s / 2) / last->mb_s;
	if (link->points[direction] != 0 && last->bytes <= before->bytes)
		return bad_at(parse, parse->reader.number, "%s: %llu bytes after %llu; points ascend", key,
			      (unsigned long long)last->bytes, (unsigned long long)before->bytes);
	if (link->points[direction] != 0 && last->ns < before->ns)
		return bad_at(parse, parse->reader.number,
			      "%s: %llu bytes in %llu ns, less than the %llu ns of %llu bytes", key,
			      (unsigned long long)last->bytes, (unsigned long long)last->ns,
			      (unsigned long long)before->ns, (unsigned long long)before->bytes);
	link->points[direction]++;
	parse->table_line = parse->reader.number;
	return true;
}

/* A key with one number, min..max, which may stand once; *line: where it stands. */
struct single {
	const char *key;
	uint64_t *line, min, max;
	uint32_t *out;
};

static bool take_single(struct parse *parse, const struct single *single, const char *value)
{
	uint64_t number;

	if (!once(parse, single->key, single->line) ||
	    !take_number(parse, single->key, &value, single->min, single->max, &number) ||
	    !is_last(parse, single->key, value))
		return false;
	*single->out = (uint32_t)number;
	return true;
}

static bool take_formula(struct parse *parse, struct model_link *link, const char *value)
{
	if (!once(parse, "formula", &parse->formula_line))
		return false;
	link->has_formula = true;
	return strcmp(value, "uvmsmart") == 0 ||
	       bad_at(parse, parse->formula_line, "formula: there is only uvmsmart");
}

static bool take_link_key(struct parse *parse, struct model_link *link, const char *key, const char *value)
{
	const struct single singles[] = {
		{"gbps", &parse->gbps_line, 16, 64, &link->formula.gbps},
		{"clock_mhz", &parse->clock_line, 1, PCIE_MHZ_MAX, &link->formula.clock_mhz},
		{"latency_ns", &parse->latency_line, 0, 1000000, &link->latency_ns},
		{"h2d_request_bytes", &parse->request_line[MODEL_TO_GPU], 0, REQUEST_BYTES_MAX,
		 &link->request_bytes[MODEL_TO_GPU]},
		{"d2h_request_bytes", &parse->request_line[MODEL_TO_CPU], 0, REQUEST_BYTES_MAX,
		 &link->request_bytes[MODEL_TO_CPU]},
	};

	if (strcmp(key, "h2d") == 0)
		return take_point(parse, link, MODEL_TO_GPU, key, value);
	if (strcmp(key, "d2h") == 0)
		return take_point(parse, link, MODEL_TO_CPU, key, value);
	if (strcmp(key, "formula") == 0)
		return take_formula(parse, link, value);
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		if (strcmp(key, singles[i].key) == 0)
			return take_single(parse, &singles[i], value);
	return bad_at(parse, parse->reader.number, "unknown key \"%.60s\"", key);
}

static bool take_range(struct parse *parse, struct model_ranges *ranges, bool is_sum, const char *value)
{
	char text[MODEL_RANGES_TEXT_MAX];

	return (is_sum ? model_ranges_take_sum(ranges, value, text)
		       : model_ranges_take(ranges, value, parse->reader.number, text)) ||
	       bad_at(parse, parse->reader.number, "%s", text);
}

static bool take_key(struct parse *parse, struct model *model, struct model_link *link, const char *key,
		     const char *value)
{
	if (strcmp(key, "range") == 0 || strcmp(key, "sum") == 0)
		return take_range(parse, parse->kind == LINK ? &link->ranges : &model->ranges, *key == 's',
				  value);
	if (strcmp(key, "title") == 0)
		return take_text(parse, key, value, &parse->title_line, parse->title, sizeof(parse->title));
	if (strcmp(key, "source") == 0)
		return take_text(parse, key, value, &parse->source_line, parse->source,
				 sizeof(parse->source));
	if (parse->kind == LINK)
		return take_link_key(parse, link, key, value);
	if (parse->kind == GPU && strcmp(key, "link") == 0)
		return take_text(parse, key, value, &parse->link_line, parse->link, sizeof(parse->link));
	if (parse->kind == GPU && strcmp(key, "include") == 0)
		return take_text(parse, key, value, &parse->include_line, parse->include,
				 sizeof(parse->include));
	for (size_t i = 0; i < FIELDS; i++) {
		if (strcmp(key, fields[i].key) == 0)
			return take_field(parse, model, &fields[i], value);
	}
	return bad_at(parse, parse->reader.number, "unknown key \"%.60s\"", key);
}

/* All lines of a file; `in` is closed. */
static bool read_lines(struct parse *parse, FILE *in, struct model *model, struct model_link *link)
{
	enum line_status status;
	bool is_good = true;

	line_reader_init(&parse->reader, in);
	while (is_good && (status = line_read(&parse->reader)) != LINE_END) {
		char *text = parse->reader.text, *equals;

		if (status == LINE_BAD) {
			is_good = bad_at(parse, parse->reader.number, "%s", parse->reader.error);
			break;
		}
		text[strcspn(text, "#")] = '\0';
		text = trim(text);
		if (*text == '\0')
			continue;
		equals = strchr(text, '=');
		if (equals)
			*equals = '\0';
		if (!equals || *trim(text) == '\0' || *trim(equals + 1) == '\0')
			is_good = bad_at(parse, parse->reader.number, "not `key = value`");
		else
			is_good = take_key(parse, model, link, trim(text), trim(equals + 1));
	}
	fclose(in);
	return is_good;
}

static bool has_texts(struct parse *parse)
{
	return (parse->title_line != 0 && parse->source_line != 0) ||
	       bad_at(parse, parse->reader.number, "%s is missing",
		      parse->title_line == 0 ? "title" : "source");
}

/* -- ranges -- */

/* What a range may stand for besides values of the file: all costs of the driver, all times of the link. */
static const char costs_key[] = "host_percent", speed_key[] = "speed_percent";

/* The fields whose values follow a further rule, or that are no constants of nature. */
static bool has_range(const struct field *field)
{
	return !field->is_wide && field->max > 1 && field->at != offsetof(struct model, tlb_shootdown) &&
	       field->at != offsetof(struct model, page_bytes) &&
	       field->at != offsetof(struct model, tlb_entry_bytes);
}

static const struct field *find_field(const char *key)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static uint32_t *value_of(struct model *model, const struct field *field)
{
	return (uint32_t *)(void *)((char *)model + field->at);
}

static bool contains(struct parse *parse, const struct model_range *range, uint64_t value, uint64_t min,
		     uint64_t max)
{
	if (value < range->low || value > range->high)
		return bad_at(parse, range->line, "range: %u..%u does not contain %s, %llu", range->low,
			      range->high, range->key, (unsigned long long)value);
	if (range->low < min || range->high > max)
		return bad_at(parse, range->line, "range: %s is out of range, %llu..%llu", range->key,
			      (unsigned long long)min, (unsigned long long)max);
	return true;
}

/* The file's own ranges, once its values are known. */
static bool check_ranges(struct parse *parse, struct model *model)
{
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct model_range *range = &model->ranges.range[i];
		const struct field *field = find_field(range->key);

		if (range->line == 0)
			continue;
		if (strcmp(range->key, costs_key) == 0) {
			if (range->sum != 0)
				return bad_at(parse, range->line, "sum: %s is a factor, and can be in none", costs_key);
			if (!contains(parse, range, 100, 1, 10000))
				return false;
			continue;
		}
		if (!field || !has_range(field))
			return bad_at(parse, range->line, "range: \"%.23s\" is no key that can have one",
				      range->key);
		if (parse->line[field - fields] == 0 && !field->is_optional) /* is missing, or another file sets it */
			continue;
		if (!contains(parse, range, *value_of(model, field), field->min, field->max))
			return false;
	}
	return true;
}

static bool check_link_ranges(struct parse *parse, const struct model_link *link)
{
	for (uint32_t i = 0; i < link->ranges.count; i++) {
		const struct model_range *range = &link->ranges.range[i];
		bool is_good;

		if (range->sum != 0)
			return bad_at(parse, range->line, "sum: keys of a link can be in none");
		if (strcmp(range->key, speed_key) == 0 && !link->has_formula)
			is_good = contains(parse, range, 100, 1, 10000);
		else if (strcmp(range->key, "h2d_request_bytes") == 0)
			is_good = contains(parse, range, link->request_bytes[MODEL_TO_GPU], 0, REQUEST_BYTES_MAX);
		else if (strcmp(range->key, "d2h_request_bytes") == 0)
			is_good = contains(parse, range, link->request_bytes[MODEL_TO_CPU], 0, REQUEST_BYTES_MAX);
		else
			return bad_at(parse, range->line, "range: \"%.23s\" is no key that can have one",
				      range->key);
		if (!is_good)
			return false;
	}
	return true;
}

/* -- files -- */

/* `asker`, in whose line `line` the name stands, gets its place in front of an error that has none. */
static FILE *open_part(struct parse *parse, enum kind kind, const char *name, const struct parse *asker,
		       uint64_t line, char *error)
{
	FILE *in;

	memset(parse, 0, sizeof(*parse));
	parse->kind = kind;
	parse->error = error;
	in = open_file(parse, name, asker ? asker->folder : NULL);
	if (!in && asker) {
		char text[MODEL_ERROR_MAX];

		snprintf(text, sizeof(text), "%.*s", MODEL_ERROR_MAX - MODEL_NAME_MAX - 32, error);
		snprintf(error, MODEL_ERROR_MAX, "%s:%llu: %.*s", asker->file, (unsigned long long)line,
			 MODEL_ERROR_MAX - MODEL_NAME_MAX - 32, text);
	}
	return in;
}

static uint64_t later_line(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool check_table(struct parse *parse, const struct model_link *link)
{
	if (parse->gbps_line != 0 || parse->clock_line != 0)
		return bad_at(parse, later_line(parse->gbps_line, parse->clock_line),
			      "gbps and clock_mhz are of a formula");
	if (parse->latency_line == 0)
		return bad_at(parse, parse->reader.number, "latency_ns is missing");
	for (int i = 0; i < MODEL_DIRECTIONS; i++) {
		const char *key = i == MODEL_TO_GPU ? "h2d" : "d2h";

		if (link->points[i] == 0)
			return bad_at(parse, parse->reader.number, "%s is missing: at least one point", key);
		if (link->latency_ns > link->point[i][0].ns)
			return bad_at(parse, parse->latency_line,
				      "latency_ns: the first point of %s takes %llu ns only", key,
				      (unsigned long long)link->point[i][0].ns);
	}
	return true;
}

static bool check_formula(struct parse *parse, const struct model_link *link)
{
	if (parse->latency_line != 0 || parse->table_line != 0)
		return bad_at(parse, later_line(parse->latency_line, parse->table_line),
			      "with a formula there is no latency_ns and no point");
	if (parse->gbps_line == 0 || parse->clock_line == 0)
		return bad_at(parse, parse->reader.number, "%s is missing",
			      parse->gbps_line == 0 ? "gbps" : "clock_mhz");
	return pcie_is_valid(&link->formula) || bad_at(parse, parse->gbps_line, "gbps: 16, 32 or 64");
}

static bool read_link(const char *name, const struct parse *asker, uint64_t line, struct model_link *link,
		      char *error)
{
	struct parse parse;
	FILE *in = open_part(&parse, LINK, name, asker, line, error);

	memset(link, 0, sizeof(*link));
	if (!in || !read_lines(&parse, in, NULL, link) || !has_texts(&parse))
		return false;
	if (!(link->has_formula ? check_formula(&parse, link) : check_table(&parse, link)) ||
	    !check_link_ranges(&parse, link))
		return false;
	memcpy(link->title, parse.title, sizeof(link->title));
	memcpy(link->source, parse.source, sizeof(link->source));
	snprintf(link->name, sizeof(link->name), "%s", name);
	return true;
}

/* The included file sets the keys that the GPU's file does not set. A range belongs to a value: the included range
 * of a value that the GPU's file sets is dropped. */
static bool merge(struct parse *gpu, struct model *model, const struct parse *from,
		  const struct model *included)
{
	bool is_kept[MODEL_RANGES_MAX] = {false};

	for (uint32_t i = 0; i < included->ranges.count; i++) {
		const char *key = included->ranges.range[i].key;
		const struct field *field = find_field(key);

		is_kept[i] = (!field || gpu->line[field - fields] == 0) &&
			     !model_ranges_find(&model->ranges, key);
	}
	for (size_t i = 0; i < FIELDS; i++) {
		if (from->line[i] == 0 || gpu->line[i] != 0)
			continue;
		memcpy((char *)model + fields[i].at, (const char *)included + fields[i].at,
		       fields[i].is_wide ? sizeof(uint64_t) : sizeof(uint32_t));
		gpu->line[i] = gpu->include_line;
	}
	return model_ranges_inherit(&model->ranges, &included->ranges, is_kept) ||
	       bad_at(gpu, gpu->include_line, "more than %u ranges, included ones among them",
		      MODEL_RANGES_MAX);
}

static bool read_host(struct parse *gpu, struct model *model)
{
	struct parse parse;
	struct model host;
	FILE *in = open_part(&parse, HOST, gpu->include, gpu, gpu->include_line, gpu->error);

	memset(&host, 0, sizeof(host));
	return in && read_lines(&parse, in, &host, NULL) && has_texts(&parse) && check_ranges(&parse, &host) &&
	       merge(gpu, model, &parse, &host);
}

static bool is_gpu(const char *name)
{
	return ends_with(name, endings[GPU]) ||
	       (!is_path(name, HOST) && !find_built_in(name, HOST) && find_built_in(name, GPU));
}

static void inherit(uint64_t *line, char *text, uint64_t from_line, const char *from, uint64_t include_line)
{
	if (*line != 0 || from_line == 0)
		return;
	memcpy(text, from, strlen(from) + 1);
	*line = include_line;
}

static bool read_gpu(struct parse *parse, FILE *in, struct model *model, bool needs_link, unsigned depth);

/* The GPU that this one includes, of which it changes some keys. */
static bool read_base(struct parse *gpu, struct model *model, bool needs_link, unsigned depth)
{
	struct parse parse;
	struct model base;
	FILE *in;

	if (depth + 1u == INCLUDES_MAX)
		return bad_at(gpu, gpu->include_line, "more than %u GPUs include each other", INCLUDES_MAX);
	in = open_part(&parse, GPU, gpu->include, gpu, gpu->include_line, gpu->error);
	if (!in || !read_gpu(&parse, in, &base, needs_link, depth + 1u))
		return false;
	if (!merge(gpu, model, &parse, &base))
		return false;
	inherit(&gpu->title_line, gpu->title, parse.title_line, parse.title, gpu->include_line);
	inherit(&gpu->source_line, gpu->source, parse.source_line, parse.source, gpu->include_line);
	inherit(&gpu->link_line, gpu->link, parse.link_line, parse.link, gpu->include_line);
	model->link = base.link;
	return true;
}

/* A GPU's file, the files that it includes, and (needs_link) the link, which is read by the file that names it. */
static bool read_gpu(struct parse *parse, FILE *in, struct model *model, bool needs_link, unsigned depth)
{
	bool names_link;

	memset(model, 0, sizeof(*model));
	if (!read_lines(parse, in, model, NULL))
		return false;
	names_link = parse->link_line != 0;
	if (parse->include_line != 0 &&
	    !(is_gpu(parse->include) ? read_base(parse, model, needs_link && !names_link, depth)
				     : read_host(parse, model)))
		return false;
	if (!check_ranges(parse, model))
		return false;
	return !needs_link || !names_link ||
	       read_link(parse->link, parse, parse->link_line, &model->link, parse->error);
}

bool model_open_link(const char *link, struct model_link *out, char error[MODEL_ERROR_MAX])
{
	return read_link(link, NULL, 0, out, error);
}

bool model_open(const char *gpu, const char *link, struct model *model, char error[MODEL_ERROR_MAX])
{
	struct parse parse;
	FILE *in = open_part(&parse, GPU, gpu, NULL, 0, error);

	if (!in || !read_gpu(&parse, in, model, link == NULL, 0) || !has_texts(&parse))
		return false;
	for (size_t i = 0; i < FIELDS; i++) {
		if (parse.line[i] == 0 && !fields[i].is_optional)
			return bad_at(&parse, parse.reader.number, "%s is missing", fields[i].key);
	}
	if (parse.link_line == 0)
		return bad_at(&parse, parse.reader.number, "link is missing");
	memcpy(model->title, parse.title, sizeof(model->title));
	memcpy(model->source, parse.source, sizeof(model->source));
	snprintf(model->name, sizeof(model->name), "%s", gpu);
	return !link || read_link(link, NULL, 0, &model->link, error);
}

/* -- links -- */

/* from + (to - from) * part / whole, with part <= whole < 2^32. */
static uint64_t between(uint64_t from, uint64_t to, uint64_t part, uint64_t whole)
{
	return from + (to - from) / whole * part + (to - from) % whole * part / whole;
}

uint64_t model_link_mb_s(const struct model_link *link, enum model_direction direction)
{
	if (link->has_formula) /* of 2^30 bytes a second the share that its endless transfers reach */
		return ((uint64_t)link->formula.gbps * 3u / 4u << 30) / 1000000u;
	return link->point[direction][link->points[direction] - 1u].mb_s;
}

static uint64_t at_rate(uint64_t bytes, uint64_t mb_s)
{
	return bytes / mb_s * 1000 + (bytes % mb_s * 1000 + mb_s / 2) / mb_s;
}

/* Whole cycles, in ns rounded up. */
static uint64_t formula_time(const struct pcie *formula, uint64_t bytes)
{
	uint64_t cycles = pcie_cycles(formula, PCIE_MIGRATION, bytes);

	return (cycles * 1000u + formula->clock_mhz - 1u) / formula->clock_mhz;
}

uint64_t model_link_time(const struct model_link *link, enum model_direction direction, uint64_t bytes)
{
	const struct model_point *point = link->point[direction];
	uint32_t i = 0;

	if (bytes == 0)
		return 0;
	if (link->has_formula && bytes <= PCIE_BYTES_MAX)
		return formula_time(&link->formula, bytes);
	if (link->has_formula || bytes >= point[link->points[direction] - 1u].bytes)
		return at_rate(bytes, model_link_mb_s(link, direction));
	if (bytes <= point[0].bytes)
		return between(link->latency_ns, point[0].ns, bytes, point[0].bytes);
	while (bytes > point[i + 1].bytes)
		i++;
	return between(point[i].ns, point[i + 1].ns, bytes - point[i].bytes,
		       point[i + 1].bytes - point[i].bytes);
}

uint64_t model_link_ns(const struct model *model, enum model_direction direction, uint64_t bytes)
{
	return model_link_time(&model->link, direction, bytes);
}

/* -- draws -- */

uint32_t model_uncertain(const struct model *model)
{
	return model->ranges.count + model->link.ranges.count;
}

static uint32_t percent_of(uint32_t value, uint32_t percent)
{
	uint64_t part = ((uint64_t)value * percent + 50u) / 100u;

	return part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
}

/* All times of the link are those of a link that is `percent` as fast. */
static void draw_speed(struct model_link *link, uint32_t percent)
{
	link->latency_ns = (uint32_t)((uint64_t)link->latency_ns * 100u / percent);
	for (int i = 0; i < MODEL_DIRECTIONS; i++) {
		for (uint32_t k = 0; k < link->points[i]; k++) {
			struct model_point *point = &link->point[i][k];
			uint64_t mb_s = point->mb_s * percent / 100u;

			point->mb_s = mb_s != 0 ? mb_s : 1;
			point->ns = point->ns * 100u / percent;
		}
	}
}

static void draw_link(struct model_link *link, uint64_t seed, uint32_t draw)
{
	for (uint32_t i = 0; i < link->ranges.count; i++) {
		const struct model_range *range = &link->ranges.range[i];
		enum model_direction direction = range->key[0] == 'h' ? MODEL_TO_GPU : MODEL_TO_CPU;

		if (strcmp(range->key, speed_key) == 0)
			draw_speed(link, model_range_draw(range, 100, seed, draw));
		else
			link->request_bytes[direction] =
				model_range_draw(range, link->request_bytes[direction], seed, draw);
	}
}

static uint32_t within(const struct field *field, uint64_t value)
{
	uint64_t least = value < field->min ? field->min : value;

	return (uint32_t)(least > field->max ? field->max : least);
}

/* Gives the sum the value that it has in `model`: each part gets its share, and the last part what rounding leaves. No part
 * leaves the limits of its key, even if the sum then changes. If all parts are 0, they have no shares, and keep their values. */
static void keep_sum(const struct model *model, uint32_t sum, struct model *drawn)
{
	struct model from = *model;
	const struct field *last = NULL;
	uint64_t want = 0, have = 0, left, share;

	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct field *field = find_field(model->ranges.range[i].key);

		if (!field || model->ranges.range[i].sum != sum)
			continue;
		want += *value_of(&from, field);
		have += *value_of(drawn, field);
	}
	left = want;
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct field *field = find_field(model->ranges.range[i].key);

		if (!field || model->ranges.range[i].sum != sum)
			continue;
		last = field;
		share = have != 0 ? *value_of(drawn, field) * want / have : *value_of(&from, field);
		left -= share;
		*value_of(drawn, field) = within(field, share);
	}
	if (last)
		*value_of(drawn, last) = within(last, *value_of(drawn, last) + left);
}

/* Costs of the driver on the host's CPU: the fields from the first to the last of them in the structure. */
static bool is_cost(const struct field *field)
{
	return field->at >= offsetof(struct model, interrupt_ns) &&
	       field->at <= offsetof(struct model, prefetch_defer_ns) && ends_with(field->key, "_ns");
}

/* What holds of every GPU: a page walk includes the miss of the second level, and the second level is no smaller than a uTLB. */
static const struct {
	size_t less, more;
} orders[] = {{offsetof(struct model, l2_tlb_ns), offsetof(struct model, walk_ns)},
	      {offsetof(struct model, utlb_entries), offsetof(struct model, l2_tlb_entries)}};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static uint32_t number_at(const struct model *model, size_t at)
{
	uint32_t number;

	memcpy(&number, (const char *)model + at, sizeof(number));
	return number;
}

static bool is_ordered(const struct model *model, size_t order)
{
	return number_at(model, orders[order].less) <= number_at(model, orders[order].more);
}

/* A model that states an impossible GPU itself, such as one without a second level, is drawn as it is. */
static bool is_possible(const struct model *model, const struct model *drawn)
{
	for (size_t i = 0; i < ORDERS; i++)
		if (is_ordered(model, i) && !is_ordered(drawn, i))
			return false;
	return true;
}

/* Both numbers of an order that the draw breaks become those of the model. */
static void keep_orders(const struct model *model, struct model *drawn)
{
	for (size_t i = 0; i < ORDERS; i++) {
		if (!is_ordered(model, i) || is_ordered(drawn, i))
			continue;
		memcpy((char *)drawn + orders[i].less, (const char *)model + orders[i].less, sizeof(uint32_t));
		memcpy((char *)drawn + orders[i].more, (const char *)model + orders[i].more, sizeof(uint32_t));
	}
}

static void draw_once(const struct model *model, uint64_t seed, uint32_t draw, struct model *drawn)
{
	uint32_t percent = 100;

	*drawn = *model;
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct model_range *range = &model->ranges.range[i];
		const struct field *field = find_field(range->key);

		if (field)
			*value_of(drawn, field) = model_range_draw(range, *value_of(drawn, field), seed, draw);
		else
			percent = model_range_draw(range, 100, seed, draw);
	}
	for (uint32_t sum = 1; sum <= model->ranges.sums; sum++)
		keep_sum(model, sum, drawn);
	for (size_t i = 0; i < FIELDS && percent != 100; i++)
		if (is_cost(&fields[i]))
			*value_of(drawn, &fields[i]) = percent_of(*value_of(drawn, &fields[i]), percent);
	draw_link(&drawn->link, seed, draw);
}

/* Numbers of draws that are made again: beyond those of draws that are asked for. */
enum { DRAW_AGAIN = 1 << 20, DRAWS_AGAIN = 64 };

void model_draw(const struct model *model, uint64_t seed, uint32_t draw, struct model *drawn)
{
	uint32_t again = 0;

	*drawn = *model;
	if (draw == 0)
		return;
	do
		draw_once(model, seed, draw + again * DRAW_AGAIN, drawn);
	while (!is_possible(model, drawn) && again++ < DRAWS_AGAIN);
	keep_orders(model, drawn);
}

/* -- list -- */

/* How well published figures validate the model: of the file that `make fidelity-figures` writes. */
static void print_validation(const char *name, char *text, size_t room)
{
	const struct model_file *file = model_files;
	unsigned long inside, all, chose;
	char line[MODEL_NAME_MAX], word[64];
	bool is_found = false;
	FILE *in;

	while (file->name && strcmp(file->name, "validation.list") != 0)
		file++;
	in = file->name ? fmemopen((void *)(uintptr_t)file->bytes, file->length, "r") : NULL;
	while (in && !is_found && fgets(line, sizeof(line), in))
		is_found = sscanf(line, "%63s %lu %lu %lu", word, &inside, &all, &chose) == 4 &&
			   strcmp(word, name) == 0;
	if (in)
		fclose(in);
	if (!is_found)
		inside = all = chose = 0;
	if (all == 0)
		snprintf(text, room, "validated by no published figure");
	else
		snprintf(text, room, "validated by %lu published figures, %lu inside (%lu %%)", all, inside,
			 (inside * 100 + all / 2) / all);
	if (chose != 0)
		snprintf(text + strlen(text), room - strlen(text), "; %lu others chose its constants", chose);
}

static void list_one(const struct model *model, FILE *out)
{
	const struct model_link *link = &model->link;
	char text[2 * MODEL_SOURCE_MAX];

	fprintf(out, "%s\n    ", model->name);
	cli_print_words(4, model->title, out);
	snprintf(text, sizeof(text),
		 "%u SMs of %u warps, %llu MiB at %u MB/s, host pages of %u KiB; link %s: up to %llu MB/s "
		 "in, %llu "
		 "out",
		 model->sms, model->warps_per_sm, (unsigned long long)model->memory_bytes >> 20,
		 model->memory_mb_s, model->page_bytes >> 10, link->name,
		 (unsigned long long)model_link_mb_s(link, MODEL_TO_GPU),
		 (unsigned long long)model_link_mb_s(link, MODEL_TO_CPU));
	fputs("    ", out);
	cli_print_words(4, text, out);
	fputs("    source: ", out);
	cli_print_words(4, model->source, out);
	print_validation(model->name, text, sizeof(text));
	fputs("    ", out);
	cli_print_words(4, text, out);
}

bool model_list(FILE *out, char error[MODEL_ERROR_MAX])
{
	for (const struct model_file *file = model_files; file->name; file++) {
		char name[MODEL_NAME_MAX];
		struct model model;

		if (!ends_with(file->name, ".gpu"))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(strlen(file->name) - strlen(".gpu")), file->name);
		if (!model_open(name, NULL, &model, error))
			return false;
		list_one(&model, out);
	}
	return true;
}
