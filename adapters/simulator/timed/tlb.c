/* A hash table whose entries are also in a list by time of use: finding, adding and dropping the oldest take
 * the same time in a TLB of 16 entries and in one of 65,536. */
#include "tlb.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* A TLB of so few entries has more buckets: then few chains have two entries, and the length of a walk is mostly
 * predicted. The buckets of a larger one would no longer fit the caches. */
#define SMALL 256u

bool tlb_open(struct tlb *tlb, uint32_t size)
{
	tlb->size = size;
	tlb->count = 0;
	tlb->buckets = 2;
	while (tlb->buckets < (size <= SMALL ? 8u : 2u) * size)
		tlb->buckets *= 2u;
	tlb->entry = calloc(size, sizeof(*tlb->entry));
	tlb->bucket = malloc(tlb->buckets * sizeof(*tlb->bucket));
	if (!tlb->entry || !tlb->bucket)
		return false;
	memset(tlb->bucket, 0xff, tlb->buckets * sizeof(*tlb->bucket));
	return true;
}

void tlb_close(struct tlb *tlb)
{
	free(tlb->entry);
	free(tlb->bucket);
}

static uint32_t *chain_of(struct tlb *tlb, uint64_t key)
{
	return &tlb->bucket[(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (tlb->buckets - 1u)];
}

void tlb_empty(struct tlb *tlb)
{
	for (; tlb->count != 0; tlb->count--)
		*chain_of(tlb, tlb->entry[tlb->count - 1u].key) = NONE;
}

static void put_first(struct tlb *tlb, uint32_t at)
{
	tlb->entry[at].older = tlb->newest;
	tlb->entry[tlb->newest].newer = at;
	tlb->newest = at;
}

bool tlb_find(struct tlb *tlb, uint64_t key)
{
	uint32_t at = *chain_of(tlb, key);
	struct tlb_entry *entry;

	while (at != NONE && tlb->entry[at].key != key)
		at = tlb->entry[at].next;
	if (at == NONE || at == tlb->newest)
		return at != NONE;
	entry = &tlb->entry[at];
	if (at == tlb->oldest)
		tlb->oldest = entry->newer;
	else
		tlb->entry[entry->older].newer = entry->newer;
	tlb->entry[entry->newer].older = entry->older;
	put_first(tlb, at);
	return true;
}

/* Out of its chain and the list; which entry that was. */
static uint32_t drop_oldest(struct tlb *tlb)
{
	uint32_t at = tlb->oldest, *link = chain_of(tlb, tlb->entry[at].key);

	while (*link != at)
		link = &tlb->entry[*link].next;
	*link = tlb->entry[at].next;
	tlb->oldest = tlb->entry[at].newer;
	return at;
}

void tlb_add(struct tlb *tlb, uint64_t key)
{
	uint32_t at = tlb->count < tlb->size ? tlb->count++ : drop_oldest(tlb), *chain = chain_of(tlb, key);

	tlb->entry[at].key = key;
	tlb->entry[at].next = *chain;
	*chain = at;
	if (tlb->count == 1) /* it is alone */
		tlb->newest = tlb->oldest = at;
	else
		put_first(tlb, at);
}
