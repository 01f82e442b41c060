/* Room that evictions make; room.h. */
#include "room.h"

void room_init(struct room *room, uint64_t pages)
{
	room->first = room->count = 0;
	room->fresh_pages = pages;
}

void room_empty(struct room *room, uint64_t pages, uint64_t now_ns)
{
	uint32_t at;

	room->count += room->count < ROOM_ENTRIES;
	at = (room->first + room->count - 1u) % ROOM_ENTRIES;
	if (room->count < ROOM_ENTRIES) {
		room->entry[at].pages = pages;
		room->entry[at].ready_ns = now_ns;
		return;
	}
	room->entry[at].pages += pages;
	room_delay(room, now_ns);
}

void room_delay(struct room *room, uint64_t ready_ns)
{
	uint32_t at = (room->first + room->count - 1u) % ROOM_ENTRIES;

	if (room->count != 0 && room->entry[at].ready_ns < ready_ns)
		room->entry[at].ready_ns = ready_ns;
}

struct room_times room_take(struct room *room, uint64_t pages)
{
	uint64_t fresh = pages < room->fresh_pages ? pages : room->fresh_pages, ready_ns, some;
	struct room_times times = {0, 0};

	room->fresh_pages -= fresh;
	if (fresh == 0 && room->count != 0)
		times.first_ns = times.last_ns = room->entry[room->first].ready_ns;
	for (pages -= fresh; pages != 0 && room->count != 0; pages -= some) {
		some = pages < room->entry[room->first].pages ? pages : room->entry[room->first].pages;
		ready_ns = room->entry[room->first].ready_ns;
		times.last_ns = ready_ns > times.last_ns ? ready_ns : times.last_ns;
		room->entry[room->first].pages -= some;
		if (room->entry[room->first].pages != 0)
			continue;
		room->first = (room->first + 1u) % ROOM_ENTRIES;
		room->count--;
	}
	return times;
}
