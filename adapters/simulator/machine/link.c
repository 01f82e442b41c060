#include "link.h"

uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t start_ns = engine->free_ns > from_ns ? engine->free_ns : from_ns;

	engine->free_ns = start_ns + model_link_ns(link->model, direction, bytes);
	return engine->free_ns;
}
