/* link.h: the link between CPU and GPU: in each direction one copy engine, and the GPU's accesses to the CPU's memory.
 *
 * While a copy and remote accesses use one direction, each gets half of its rate. The link loses no time by that. A copy
 * that was submitted keeps its end, because events are queued for that time; the time that later remote accesses take
 * from it delays the next copy. */
#ifndef UVMSIM_LINK_H
#define UVMSIM_LINK_H

#include "../model.h"

/* The direction is used from since_ns to until_ns without a pause. */
struct link_use {
	uint64_t since_ns, until_ns;
};

struct link_engine {
	struct link_use copies; /* all that were submitted */
	struct link_use remote;
	uint64_t remote_debt; /* of remote accesses: the remainder of rounding to whole ns, in bytes / 1000 */
};

struct link {
	const struct model *model;
	uint32_t ratio_percent; /* bytes of pages that stand for 100 on the link */
	struct link_engine engine[MODEL_DIRECTIONS];
};

/* Remote accesses: bytes on the link, in so many requests. */
struct link_load {
	uint64_t bytes, requests;
};

/* A copy that may begin at from_ns; when it ends. */
uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes);
/* The same of managed pages, which the link compresses. */
uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes);
/* The last `bytes` of the copy that was submitted last cannot begin before from_ns; when it ends then. */
uint64_t link_delay_pages(struct link *link, enum model_direction direction, uint64_t from_ns,
			  uint64_t bytes);
/* Remote accesses, which wait for all remote accesses before them. The link may serve them from from_ns on, and they are
 * issued at at_ns, at from_ns or later; when the last byte has arrived. Requests are as long on the link as their bytes
 * are, but at least as the model's request_bytes. */
uint64_t link_remote(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t at_ns,
		     struct link_load load);
/* A remote access of a time of its own, independent of its size. The access waits for those before it, and goes before all copies that
 * have not begun, which it delays. When it has ended. The copy that is under way at at_ns delays it by nothing. */
uint64_t link_remote_fixed(struct link *link, enum model_direction direction, uint64_t at_ns, uint64_t work_ns);

#endif
