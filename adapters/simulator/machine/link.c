#include "link.h"

uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t start_ns = engine->free_ns > from_ns ? engine->free_ns : from_ns;

	engine->free_ns = start_ns + model_link_ns(link->model, direction, bytes);
	return engine->free_ns;
}

uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	uint64_t ratio = link->ratio_percent;

	return link_copy(link, direction, from_ns, (bytes * 100u + ratio - 1u) / ratio);
}
