/* tlb.h: one TLB, fully associative, with the entry that was used longest ago the next to go. */
#ifndef UVMSIM_TLB_H
#define UVMSIM_TLB_H

#include <stdbool.h>
#include <stdint.h>

/* What is translated is the caller's: a key. An entry is in a list by time of use and in a chain of its bucket. */
struct tlb_entry {
	uint64_t key;
	uint32_t newer, older, next;
};

struct tlb {
	struct tlb_entry *entry;       /* [size] */
	uint32_t *bucket;	       /* [buckets]: the first entry of each chain */
	uint32_t size, count, buckets; /* buckets: a power of two */
	uint32_t newest, oldest;       /* undefined while count is 0 */
};

/* False: out of memory; tlb_close may be called all the same, as on zeros. */
bool tlb_open(struct tlb *tlb, uint32_t size);
void tlb_close(struct tlb *tlb);
void tlb_empty(struct tlb *tlb);
/* Whether it holds the key, which then is the newest; tlb_holds looks at the newest first. */
bool tlb_find(struct tlb *tlb, uint64_t key);
static inline bool tlb_holds(struct tlb *tlb, uint64_t key)
{
	return tlb->count != 0 && (tlb->entry[tlb->newest].key == key || tlb_find(tlb, key));
}
/* Takes in a key that it does not hold. */
void tlb_add(struct tlb *tlb, uint64_t key);

#endif
