/* huge_pages.h: large tables that are accessed at random, in huge pages of the machine: a look-up misses the TLB less often. */
#ifndef UVMSIM_HUGE_PAGES_H
#define UVMSIM_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES 0x200000u

/* Asks for huge pages where they fit into [memory, memory + bytes). Smaller tables than four of them are left alone: to clear
 * a huge page takes longer than their TLB misses. Advice only: errors do not matter. */
static inline void huge_pages_advise(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	size_t before = (size_t)(-(uintptr_t)memory % HUGE_PAGE_BYTES);

	if (memory != NULL && bytes >= 4u * HUGE_PAGE_BYTES)
		(void)madvise((char *)memory + before, (bytes - before) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES,
			      MADV_HUGEPAGE);
#else
	(void)memory, (void)bytes;
#endif
}

#endif
