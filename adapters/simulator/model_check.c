/* Checks of what a file says about ranges, and of links; model_internal.h. */
#include "model_internal.h"

#include <string.h>

static bool contains(struct model_parse *parse, const struct model_range *range, uint64_t value, uint64_t min,
		     uint64_t max)
{
	if (value < range->low || value > range->high)
		return model_bad_at(parse, range->line, "range: %u..%u does not contain %s, %llu", range->low,
				    range->high, range->key, (unsigned long long)value);
	if (range->low < min || range->high > max)
		return model_bad_at(parse, range->line, "range: %s is out of range, %llu..%llu", range->key,
				    (unsigned long long)min, (unsigned long long)max);
	return true;
}

bool model_check_ranges(struct model_parse *parse, struct model *model)
{
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct model_range *range = &model->ranges.range[i];
		const struct model_field *field = model_find_field(range->key);

		if (range->line == 0)
			continue;
		if (strcmp(range->key, MODEL_COSTS_KEY) == 0) {
			if (range->sum != 0)
				return model_bad_at(parse, range->line, "sum: %s is a factor, and can be in none", MODEL_COSTS_KEY);
			if (!contains(parse, range, 100, 1, 10000))
				return false;
			continue;
		}
		if (!field || !model_field_has_range(field))
			return model_bad_at(parse, range->line, "range: \"%.23s\" is no key that can have one",
					    range->key);
		if (parse->line[field - model_field] == 0 && !field->is_optional) /* is missing, or another file sets it */
			continue;
		if (!contains(parse, range, *model_value(model, field), field->min, field->max))
			return false;
	}
	return true;
}

static bool check_link_ranges(struct model_parse *parse, const struct model_link *link)
{
	for (uint32_t i = 0; i < link->ranges.count; i++) {
		const struct model_range *range = &link->ranges.range[i];
		bool is_good;

		if (range->sum != 0)
			return model_bad_at(parse, range->line, "sum: keys of a link can be in none");
		if (strcmp(range->key, MODEL_SPEED_KEY) == 0 && !link->has_formula)
			is_good = contains(parse, range, 100, 1, 10000);
		else if (strcmp(range->key, "h2d_request_bytes") == 0)
			is_good = contains(parse, range, link->request_bytes[MODEL_TO_GPU], 0, MODEL_REQUEST_BYTES_MAX);
		else if (strcmp(range->key, "d2h_request_bytes") == 0)
			is_good = contains(parse, range, link->request_bytes[MODEL_TO_CPU], 0, MODEL_REQUEST_BYTES_MAX);
		else
			return model_bad_at(parse, range->line, "range: \"%.23s\" is no key that can have one",
					    range->key);
		if (!is_good)
			return false;
	}
	return true;
}

static uint64_t later_line(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool check_table(struct model_parse *parse, const struct model_link *link)
{
	if (parse->gbps_line != 0 || parse->clock_line != 0)
		return model_bad_at(parse, later_line(parse->gbps_line, parse->clock_line),
				    "gbps and clock_mhz are of a formula");
	if (parse->latency_line == 0)
		return model_bad_at(parse, parse->reader.number, "latency_ns is missing");
	for (int i = 0; i < MODEL_DIRECTIONS; i++) {
		const char *key = i == MODEL_TO_GPU ? "h2d" : "d2h";

		if (link->points[i] == 0)
			return model_bad_at(parse, parse->reader.number, "%s is missing: at least one point", key);
		if (link->latency_ns > link->point[i][0].ns)
			return model_bad_at(parse, parse->latency_line,
					    "latency_ns: the first point of %s takes %llu ns only", key,
					    (unsigned long long)link->point[i][0].ns);
	}
	return true;
}

static bool check_formula(struct model_parse *parse, const struct model_link *link)
{
	if (parse->latency_line != 0 || parse->table_line != 0)
		return model_bad_at(parse, later_line(parse->latency_line, parse->table_line),
				    "with a formula there is no latency_ns and no point");
	if (parse->gbps_line == 0 || parse->clock_line == 0)
		return model_bad_at(parse, parse->reader.number, "%s is missing",
				    parse->gbps_line == 0 ? "gbps" : "clock_mhz");
	return pcie_is_valid(&link->formula) || model_bad_at(parse, parse->gbps_line, "gbps: 16, 32 or 64");
}

bool model_check_link(struct model_parse *parse, const struct model_link *link)
{
	return (link->has_formula ? check_formula(parse, link) : check_table(parse, link)) && check_link_ranges(parse, link);
}
