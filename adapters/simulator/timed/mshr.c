/* Far-fault MSHRs (SAND2022-1528, figure 2-1, after Zheng et al. HPCA'16): a table of fixed size, by page and
 * by age. Who waits for a page hangs on its entry; how many do has no limit. */
#include "mshr.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define NONE	    MSHR_NONE
#define WAITERS_MIN 1024u

/* Entries from `first` on are chained as free ones. */
static void free_entries(struct mshr *mshr)
{
	for (uint32_t i = 0; i < mshr->size; i++)
		mshr->entry[i].next = i + 1u < mshr->size ? i + 1u : NONE;
	mshr->free_entry = 0;
	mshr->entry[mshr->size].first = NONE;
}

bool mshr_open(struct mshr *mshr, uint32_t size)
{
	mshr->size = size;
	mshr->oldest = mshr->newest = mshr->free_waiter = NONE;
	mshr->buckets = 2;
	while (mshr->buckets < 2u * size)
		mshr->buckets *= 2u;
	mshr->entry = calloc((size_t)size + 1u, sizeof(*mshr->entry));
	mshr->bucket = malloc(mshr->buckets * sizeof(*mshr->bucket));
	if (!mshr->entry || !mshr->bucket)
		return false;
	memset(mshr->bucket, 0xff, mshr->buckets * sizeof(*mshr->bucket));
	free_entries(mshr);
	return true;
}

void mshr_close(struct mshr *mshr)
{
	free(mshr->entry);
	free(mshr->bucket);
	free(mshr->waiter);
}

static uint32_t *chain_of(const struct mshr *mshr, uint64_t page)
{
	return &mshr->bucket[(page * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (mshr->buckets - 1u)];
}

uint32_t mshr_find(const struct mshr *mshr, uint64_t page)
{
	uint32_t at = *chain_of(mshr, page);

	while (at != NONE && mshr->entry[at].page != page)
		at = mshr->entry[at].next;
	return at;
}

uint32_t mshr_add(struct mshr *mshr, uint64_t page)
{
	uint32_t at = mshr->free_entry, *chain = chain_of(mshr, page);

	if (at == NONE)
		return NONE;
	mshr->free_entry = mshr->entry[at].next;
	mshr->entry[at] = (struct mshr_entry){
		.page = page, .first = NONE, .next = *chain, .older = mshr->newest, .newer = NONE};
	*chain = at;
	if (mshr->newest == NONE)
		mshr->oldest = at;
	else
		mshr->entry[mshr->newest].newer = at;
	mshr->newest = at;
	mshr->count++;
	return at;
}

/* Twice as many waiters; the new ones are free. */
static bool grow_waiters(struct mshr *mshr)
{
	uint32_t room = mshr->waiters != 0 ? 2u * mshr->waiters : WAITERS_MIN;
	struct mshr_waiter *fresh = array_again(mshr->waiter, room, sizeof(*fresh));

	if (!fresh)
		return false;
	for (uint32_t i = mshr->waiters; i < room; i++)
		fresh[i].next = i + 1u < room ? i + 1u : NONE;
	mshr->waiter = fresh;
	mshr->free_waiter = mshr->waiters;
	mshr->waiters = room;
	return true;
}

bool mshr_wait(struct mshr *mshr, uint32_t entry, const struct mshr_waiter *waiter)
{
	struct mshr_entry *e = &mshr->entry[entry];
	uint32_t at;

	if (mshr->free_waiter == NONE && !grow_waiters(mshr))
		return false;
	at = mshr->free_waiter;
	mshr->free_waiter = mshr->waiter[at].next;
	mshr->waiter[at] = *waiter;
	mshr->waiter[at].next = NONE;
	if (e->first == NONE)
		e->first = at;
	else
		mshr->waiter[e->last].next = at;
	e->last = at;
	return true;
}

bool mshr_release(struct mshr *mshr, uint32_t entry, struct mshr_waiter *waiter)
{
	struct mshr_entry *e = &mshr->entry[entry];
	uint32_t at = e->first;

	if (at == NONE)
		return false;
	*waiter = mshr->waiter[at];
	e->first = waiter->next;
	mshr->waiter[at].next = mshr->free_waiter;
	mshr->free_waiter = at;
	return true;
}

void mshr_drop(struct mshr *mshr, uint32_t entry)
{
	struct mshr_entry *e = &mshr->entry[entry];
	uint32_t *link = chain_of(mshr, e->page);

	while (*link != entry)
		link = &mshr->entry[*link].next;
	*link = e->next;
	if (e->older == NONE)
		mshr->oldest = e->newer;
	else
		mshr->entry[e->older].newer = e->newer;
	if (e->newer == NONE)
		mshr->newest = e->older;
	else
		mshr->entry[e->newer].older = e->older;
	e->next = mshr->free_entry;
	mshr->free_entry = entry;
	mshr->count--;
}
