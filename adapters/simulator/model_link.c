/* Times of transfers on a link; model.h. */
#include "model.h"

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
