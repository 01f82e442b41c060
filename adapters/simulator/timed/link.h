/* link.h: the two copy engines between CPU and GPU, one for each direction. */
#ifndef UVMSIM_LINK_H
#define UVMSIM_LINK_H

#include "../model.h"

struct link_engine {
	uint64_t free_ns; /* all that was submitted has ended */
};

struct link {
	const struct model *model;
	uint32_t ratio_percent; /* bytes of pages that stand for 100 on the link */
	struct link_engine engine[MODEL_DIRECTIONS];
};

/* A copy that may begin at from_ns; when it ends. */
uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes);
/* The same of managed pages, which the link compresses. */
uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes);
/* The last `bytes` of the copy that was submitted last cannot begin before from_ns; when it ends then. */
uint64_t link_delay_pages(struct link *link, enum model_direction direction, uint64_t from_ns,
			  uint64_t bytes);

#endif
