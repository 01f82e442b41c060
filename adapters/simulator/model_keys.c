/* The keys of a file, line by line; model_internal.h. */
#include "model_internal.h"

#include <string.h>

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " ");
	for (length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
		text[length - 1] = '\0';
	return text;
}

static bool is_power_of_two(uint64_t number)
{
	return (number & (number - 1)) == 0;
}

/* The one field whose values have names. */
static bool take_shootdown(struct model_parse *parse, struct model *model, const char *value)
{
	bool is_entry = strcmp(value, "entry") == 0;

	if (!is_entry && strcmp(value, "whole") != 0)
		return model_bad_at(parse, parse->reader.number, "tlb_shootdown: entry or whole");
	model->tlb_shootdown = is_entry ? MODEL_SHOOTDOWN_ENTRY : MODEL_SHOOTDOWN_WHOLE;
	return true;
}

static bool take_field(struct model_parse *parse, struct model *model, const struct model_field *field, const char *value)
{
	uint64_t *line = &parse->line[field - model_field];
	uint64_t number;
	uint32_t narrow;

	if (!model_parse_once(parse, field->key, line))
		return false;
	if (field->at == offsetof(struct model, tlb_shootdown))
		return take_shootdown(parse, model, value);
	if (!model_parse_number(parse, field->key, &value, field->min, field->max, &number) ||
	    !model_parse_end(parse, field->key, value))
		return false;
	if (field->at == offsetof(struct model, page_bytes) && number != 4096 && number != 65536)
		return model_bad_at(parse, *line, "page_bytes: 4096 or 65536");
	if (field->at == offsetof(struct model, tlb_entry_bytes) && !is_power_of_two(number))
		return model_bad_at(parse, *line, "tlb_entry_bytes: not a power of two");
	if (field->is_wide) {
		memcpy((char *)model + field->at, &number, sizeof(number));
	} else {
		narrow = (uint32_t)number;
		memcpy((char *)model + field->at, &narrow, sizeof(narrow));
	}
	return true;
}

static bool take_point(struct model_parse *parse, struct model_link *link, enum model_direction direction,
		       const char *key, const char *value)
{
	struct model_point *last = &link->point[direction][link->points[direction]], *before = last - 1;

	if (link->points[direction] == MODEL_POINTS_MAX)
		return model_bad_at(parse, parse->reader.number, "%s: more than %u points", key, MODEL_POINTS_MAX);
	/* up to 4 GiB: then products in model_link_time fit 64 bits */
	if (!model_parse_number(parse, key, &value, 1, UINT32_MAX, &last->bytes))
		return false;
	if (*value == '\0')
		return model_bad_at(parse, parse->reader.number, "%s: two numbers, BYTES MB_PER_S", key);
	if (!model_parse_number(parse, key, &value, 1, 100000000, &last->mb_s) || !model_parse_end(parse, key, value))
		return false;
	last->ns = (last->bytes * 1000 + last->mb_s / 2) / last->mb_s;
	if (link->points[direction] != 0 && last->bytes <= before->bytes)
		return model_bad_at(parse, parse->reader.number, "%s: %llu bytes after %llu; points ascend", key,
				    (unsigned long long)last->bytes, (unsigned long long)before->bytes);
	if (link->points[direction] != 0 && last->ns < before->ns)
		return model_bad_at(parse, parse->reader.number,
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

static bool take_single(struct model_parse *parse, const struct single *single, const char *value)
{
	uint64_t number;

	if (!model_parse_once(parse, single->key, single->line) ||
	    !model_parse_number(parse, single->key, &value, single->min, single->max, &number) ||
	    !model_parse_end(parse, single->key, value))
		return false;
	*single->out = (uint32_t)number;
	return true;
}

static bool take_formula(struct model_parse *parse, struct model_link *link, const char *value)
{
	if (!model_parse_once(parse, "formula", &parse->formula_line))
		return false;
	link->has_formula = true;
	return strcmp(value, "uvmsmart") == 0 ||
	       model_bad_at(parse, parse->formula_line, "formula: there is only uvmsmart");
}

static bool take_link_key(struct model_parse *parse, struct model_link *link, const char *key, const char *value)
{
	const struct single singles[] = {
		{"gbps", &parse->gbps_line, 16, 64, &link->formula.gbps},
		{"clock_mhz", &parse->clock_line, 1, PCIE_MHZ_MAX, &link->formula.clock_mhz},
		{"latency_ns", &parse->latency_line, 0, 1000000, &link->latency_ns},
		{"h2d_request_bytes", &parse->request_line[MODEL_TO_GPU], 0, MODEL_REQUEST_BYTES_MAX,
		 &link->request_bytes[MODEL_TO_GPU]},
		{"d2h_request_bytes", &parse->request_line[MODEL_TO_CPU], 0, MODEL_REQUEST_BYTES_MAX,
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
	return model_bad_at(parse, parse->reader.number, "unknown key \"%.60s\"", key);
}

static bool take_range(struct model_parse *parse, struct model_ranges *ranges, bool is_sum, const char *value)
{
	char text[MODEL_RANGES_TEXT_MAX];

	return (is_sum ? model_ranges_take_sum(ranges, value, text)
		       : model_ranges_take(ranges, value, parse->reader.number, text)) ||
	       model_bad_at(parse, parse->reader.number, "%s", text);
}

static bool take_key(struct model_parse *parse, struct model *model, struct model_link *link, const char *key,
		     const char *value)
{
	if (strcmp(key, "range") == 0 || strcmp(key, "sum") == 0)
		return take_range(parse, parse->kind == MODEL_LINK ? &link->ranges : &model->ranges, *key == 's',
				  value);
	if (strcmp(key, "title") == 0)
		return model_parse_text(parse, key, value, &parse->title_line, parse->title, sizeof(parse->title));
	if (strcmp(key, "source") == 0)
		return model_parse_text(parse, key, value, &parse->source_line, parse->source,
					sizeof(parse->source));
	if (parse->kind == MODEL_LINK)
		return take_link_key(parse, link, key, value);
	if (parse->kind == MODEL_GPU && strcmp(key, "link") == 0)
		return model_parse_text(parse, key, value, &parse->link_line, parse->link, sizeof(parse->link));
	if (parse->kind == MODEL_GPU && strcmp(key, "include") == 0)
		return model_parse_text(parse, key, value, &parse->include_line, parse->include,
					sizeof(parse->include));
	for (size_t i = 0; i < model_fields; i++) {
		if (strcmp(key, model_field[i].key) == 0)
			return take_field(parse, model, &model_field[i], value);
	}
	return model_bad_at(parse, parse->reader.number, "unknown key \"%.60s\"", key);
}

bool model_read_lines(struct model_parse *parse, FILE *in, struct model *model, struct model_link *link)
{
	enum line_status status;
	bool is_good = true;

	line_reader_init(&parse->reader, in);
	while (is_good && (status = line_read(&parse->reader)) != LINE_END) {
		char *text = parse->reader.text, *equals;

		if (status == LINE_BAD) {
			is_good = model_bad_at(parse, parse->reader.number, "%s", parse->reader.error);
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
			is_good = model_bad_at(parse, parse->reader.number, "not `key = value`");
		else
			is_good = take_key(parse, model, link, trim(text), trim(equals + 1));
	}
	fclose(in);
	return is_good;
}

bool model_has_texts(struct model_parse *parse)
{
	return (parse->title_line != 0 && parse->source_line != 0) ||
	       model_bad_at(parse, parse->reader.number, "%s is missing",
			    parse->title_line == 0 ? "title" : "source");
}
