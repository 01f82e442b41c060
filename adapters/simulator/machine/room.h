/* room.h: page-wise orders: memory that evictions have emptied, or will have when their copies end. What was emptied
 * first is used first, and whoever uses it waits for that.
 */
#ifndef UVMSIM_ROOM_H
#define UVMSIM_ROOM_H

#include <stdint.h>

#define ROOM_ENTRIES 1024u /* evictions on their way; beyond, the newest ones count as one */

struct room {
	struct {
		uint64_t pages, ready_ns;
	} entry[ROOM_ENTRIES];
	uint32_t first, count;
	uint64_t fresh_pages; /* never used: ready at any time */
};

void room_init(struct room *room, uint64_t pages);
/* So many pages are emptied, */
void room_empty(struct room *room, uint64_t pages, uint64_t now_ns);
/* and part of the last ones must be copied first, until then. */
void room_delay(struct room *room, uint64_t ready_ns);
/* Pages come: when is there room for the first of them, and for the last? */
struct room_times {
	uint64_t first_ns, last_ns;
};
struct room_times room_take(struct room *room, uint64_t pages);

#endif
