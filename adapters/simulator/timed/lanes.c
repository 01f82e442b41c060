/* Waiting lanes by page; lanes.h. Lanes of one page follow each other in the chain of a bucket, or nearly so: a new
 * entry is the first of its chain. The table grows when all entries are in use, so chains stay short. */
#include "lanes.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define NONE	       UINT32_MAX
#define CAPACITY_LEAST 1024u

void lanes_close(struct lanes *lanes)
{
	free(lanes->entry);
	free(lanes->bucket);
}

static void put_first(struct lanes *lanes, uint32_t at)
{
	uint32_t *chain = lanes_chain(lanes, lanes->entry[at].page);

	lanes->entry[at].next = *chain;
	*chain = at;
}

/* Doubles the capacity of a table whose entries are all in use. */
static bool grow(struct lanes *lanes)
{
	uint32_t before = lanes->capacity, capacity = before != 0 ? 2u * before : CAPACITY_LEAST;
	struct lane_entry *entry = array_again(lanes->entry, capacity, sizeof(*entry));
	uint32_t *bucket;

	if (!entry)
		return false;
	lanes->entry = entry;
	bucket = array_again(lanes->bucket, capacity, sizeof(*bucket));
	if (!bucket)
		return false;
	memset(bucket, 0xff, (size_t)capacity * sizeof(*bucket));
	lanes->bucket = bucket;
	lanes->capacity = capacity;
	for (uint32_t i = 0; i < before; i++)
		put_first(lanes, i);
	for (uint32_t i = before; i < capacity; i++)
		entry[i].next = i + 1u < capacity ? i + 1u : NONE;
	lanes->free = before;
	return true;
}

bool lanes_add(struct lanes *lanes, uint64_t page, const struct asker *who)
{
	uint32_t at;

	if (lanes->count == lanes->capacity && !grow(lanes))
		return false;
	at = lanes->free;
	lanes->free = lanes->entry[at].next;
	lanes->entry[at].page = page;
	lanes->entry[at].who = *who;
	put_first(lanes, at);
	lanes->count++;
	return true;
}

bool lanes_take(struct lanes *lanes, uint64_t page, struct asker *who)
{
	uint32_t *link, at;

	if (lanes->count == 0)
		return false;
	for (link = lanes_chain(lanes, page); *link != NONE; link = &lanes->entry[*link].next) {
		if (lanes->entry[*link].page == page)
			break;
	}
	at = *link;
	if (at == NONE)
		return false;
	*link = lanes->entry[at].next;
	*who = lanes->entry[at].who;
	lanes->entry[at].next = lanes->free;
	lanes->free = at;
	lanes->count--;
	return true;
}
