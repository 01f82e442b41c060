/* Draws of models from the ranges of their constants; model.h. */
#include "model_internal.h"

#include <string.h>

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

		if (strcmp(range->key, MODEL_SPEED_KEY) == 0)
			draw_speed(link, model_range_draw(range, 100, seed, draw));
		else
			link->request_bytes[direction] =
				model_range_draw(range, link->request_bytes[direction], seed, draw);
	}
}

static uint32_t within(const struct model_field *field, uint64_t value)
{
	uint64_t least = value < field->min ? field->min : value;

	return (uint32_t)(least > field->max ? field->max : least);
}

/* Gives the sum the value that it has in `model`: each part gets its share, and the last part what rounding leaves. No part
 * leaves the limits of its key, even if the sum then changes. If all parts are 0, they have no shares, and keep their values. */
static void keep_sum(const struct model *model, uint32_t sum, struct model *drawn)
{
	struct model from = *model;
	const struct model_field *last = NULL;
	uint64_t want = 0, have = 0, left, share;

	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct model_field *field = model_find_field(model->ranges.range[i].key);

		if (!field || model->ranges.range[i].sum != sum)
			continue;
		want += *model_value(&from, field);
		have += *model_value(drawn, field);
	}
	left = want;
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct model_field *field = model_find_field(model->ranges.range[i].key);

		if (!field || model->ranges.range[i].sum != sum)
			continue;
		last = field;
		share = have != 0 ? *model_value(drawn, field) * want / have : *model_value(&from, field);
		left -= share;
		*model_value(drawn, field) = within(field, share);
	}
	if (last)
		*model_value(drawn, last) = within(last, *model_value(drawn, last) + left);
}

/* Costs of the driver on the host's CPU: the fields from the first to the last of them in the structure. */
static bool is_cost(const struct model_field *field)
{
	return field->at >= offsetof(struct model, interrupt_ns) &&
	       field->at <= offsetof(struct model, prefetch_defer_ns) && model_ends_with(field->key, "_ns");
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
		const struct model_field *field = model_find_field(range->key);

		if (field)
			*model_value(drawn, field) = model_range_draw(range, *model_value(drawn, field), seed, draw);
		else
			percent = model_range_draw(range, 100, seed, draw);
	}
	for (uint32_t sum = 1; sum <= model->ranges.sums; sum++)
		keep_sum(model, sum, drawn);
	for (size_t i = 0; i < model_fields && percent != 100; i++)
		if (is_cost(&model_field[i]))
			*model_value(drawn, &model_field[i]) = percent_of(*model_value(drawn, &model_field[i]), percent);
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
