/* See short_arena.h. */
#include "short_arena.h"

#include "support/engine_internals.h"

uint32_t short_arena_begin(struct uvmp_service *service)
{
	uint32_t end = service->segment[0].end;

	service->segment[0].end = service->segment[0].unused;
	return end;
}

void short_arena_end(struct uvmp_service *service, uint32_t end)
{
	service->segment[0].end = end;
}
