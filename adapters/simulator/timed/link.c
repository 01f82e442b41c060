#include "link.h"

uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t start_ns = engine->free_ns > from_ns ? engine->free_ns : from_ns;

	engine->free_ns = start_ns + model_link_ns(link->model, direction, bytes);
	return engine->free_ns;
}

/* What a run of pages is on the link. */
static uint64_t compressed(const struct link *link, uint64_t bytes)
{
	return (bytes * 100u + link->ratio_percent - 1u) / link->ratio_percent;
}

uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	return link_copy(link, direction, from_ns, compressed(link, bytes));
}

uint64_t link_delay_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t end_ns = from_ns + model_link_ns(link->model, direction, compressed(link, bytes));

	if (end_ns > engine->free_ns)
		engine->free_ns = end_ns;
	return engine->free_ns;
}
