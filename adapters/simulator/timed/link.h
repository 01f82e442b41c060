/* link.h: the link between CPU and GPU: in each direction one copy engine, and the GPU's accesses to the CPU's memory.
 *
 * While a copy and remote accesses use one direction, each gets half of its rate, and the link loses no time by that. Copies
 * are submitted ahead of the GPU's clock; the link knows them all, and when each may begin. A copy's end is told when it is
 * submitted, because events are queued for that time. Remote accesses that come later make the copy end later, and so all
 * that follow it: their ends are told in this knowledge. What is late when the GPU stops is link_settled_ns's. */
#ifndef UVMSIM_LINK_H
#define UVMSIM_LINK_H

#include "../model.h"

#define LINK_PARTS 1024u /* the pauses between copies that have not begun: as many as copies may wait */

/* Copies without a pause between them, in ns at the link's full rate. They begin at from_ns or later. */
struct link_part {
	uint64_t from_ns, work_ns;
};

/* What has begun and has not ended at now_ns. */
struct link_work {
	uint64_t now_ns, copies_ns, remote_ns;
};

struct link_engine {
	uint64_t copies_until_ns;	     /* the end that was told of all copies */
	struct link_work work;		     /* when the last remote access was issued */
	uint64_t remote_since_ns;	     /* the link has served remote accesses without a pause since then */
	uint64_t remote_debt;		     /* the remainder of rounding to whole ns, in bytes / 1000 */
	uint64_t fixed_until_ns;	     /* of accesses of a time of their own */
	struct link_part part[LINK_PARTS]; /* copies after work.now_ns: a ring */
	uint32_t first, parts;
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
 * are, but at least as the model's request_bytes. from_ns never goes back. */
uint64_t link_remote(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t at_ns,
		     struct link_load load);
/* A remote access of a time of its own, independent of its size. The access waits for those before it, and goes before all copies that
 * have not begun, which it delays. When it has ended. The copy that is under way at at_ns delays it by nothing. */
uint64_t link_remote_fixed(struct link *link, enum model_direction direction, uint64_t at_ns, uint64_t work_ns);
/* From when on both directions are idle, but no earlier than at_ns. */
uint64_t link_idle_ns(const struct link *link, uint64_t at_ns);
/* When the last copy has ended, if no remote access follows; 0: no copy was submitted. */
uint64_t link_copies_end_ns(const struct link *link);
/* The copies whose told end is at_ns or earlier: when they have ended, but no earlier than at_ns. */
uint64_t link_settled_ns(const struct link *link, uint64_t at_ns);

#endif
