/* link.h: the link between CPU and GPU: in each direction one copy engine, and the GPU's accesses to the CPU's memory.
 *
 * While a copy and remote accesses use one direction, each gets half of its rate, and the link loses no time by that. Copies
 * are submitted ahead of the GPU's clock; the link knows them all, and when each may begin. A copy's end is told when it is
 * submitted, because events are queued for that time. Remote accesses that come later make the copy end later than was told,
 * and so the copies that follow without a sufficient pause; these are told so if they have not been submitted yet. At the end
 * of a kernel, link_settled_ns gives the end of copies that are late. */
#ifndef UVMSIM_LINK_H
#define UVMSIM_LINK_H

#include "../model.h"

#define LINK_PARTS 2048u /* the pauses between copies that have not begun: two for each copy that may wait */

/* Copies without a pause between them, in ns at the link's full rate. They begin at from_ns or later. */
struct link_part {
	uint64_t from_ns, work_ns;
};

/* What has begun and has not ended at now_ns. */
struct link_work {
	uint64_t now_ns, copies_ns, remote_ns;
};

/* A copy: the end that was told of it, and its work and that of all copies before it. */
struct link_told {
	uint64_t end_ns, submitted_ns;
};

struct link_engine {
	uint64_t copies_until_ns;	     /* the end that was told of all copies */
	uint64_t last_ns;		     /* of the copy that was submitted last: the work that is in a part or in `work` */
	struct link_work work;		     /* when the last remote access was issued */
	struct link_work tail;		     /* when the last part may begin, unless is_tail_old */
	bool is_tail_old;		     /* a remote access has been issued since */
	uint64_t remote_since_ns;	     /* the link has served remote accesses without a pause since then */
	uint64_t remote_debt;		     /* the remainder of rounding to whole ns, in bytes / 1000 */
	uint64_t fixed_until_ns;	     /* of accesses of a time of their own */
	struct link_part part[LINK_PARTS]; /* copies after work.now_ns: a ring */
	uint32_t first, parts;
	uint64_t copies, submitted_ns;	   /* all, and their work */
	struct link_told told[LINK_PARTS]; /* the last copies: a ring, the last one at `copies` */
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

/* When a copy that may begin at from_ns begins, if all copies before it end as was told. */
uint64_t link_start_ns(const struct link *link, enum model_direction direction, uint64_t from_ns);
/* A copy that may begin at from_ns; when it ends. O(1), and O(LINK_PARTS) once after remote accesses. */
uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes);
/* The same of managed pages, which the link compresses, in a push that has copied `pushed` bytes before: its copies take as long
 * as one copy of all of its bytes. 0: the copy is alone, or the first one. */
uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t pushed, uint64_t bytes);
/* The last `bytes` of the copy that was submitted last, behind `pushed` bytes of its push, those of the copy itself included,
 * cannot begin before from_ns; when it ends then. The start-up belongs to the first byte of the push. */
uint64_t link_delay_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t pushed,
			  uint64_t bytes);
/* Remote accesses, which wait for all remote accesses before them. The link may serve them from from_ns on, and they are
 * issued at at_ns, at from_ns or later; when the last byte has arrived. Requests are as long on the link as their bytes
 * are, but at least as the model's request_bytes. from_ns never goes back. */
uint64_t link_remote(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t at_ns,
		     struct link_load load);
/* A remote access of a time of its own, independent of its size. The access waits for those before it, and goes before all
 * copies that have not begun, which it delays. When it has ended. The copy that is under way at at_ns delays it by nothing. A
 * system uses either this or link_remote. */
uint64_t link_remote_fixed(struct link *link, enum model_direction direction, uint64_t at_ns, uint64_t work_ns);
/* From when on both directions are idle, but no earlier than at_ns. */
uint64_t link_idle_ns(const struct link *link, uint64_t at_ns);
/* When the last copy has ended, if no remote access follows; 0: no copy was submitted. */
uint64_t link_copies_end_ns(const struct link *link);
/* When all copies that were told to end by at_ns have ended, if no remote access follows, but no earlier than at_ns. Copies of
 * which the link was told LINK_PARTS copies ago, or earlier, count as ended. O(LINK_PARTS). */
uint64_t link_settled_ns(const struct link *link, uint64_t at_ns);

#endif
