/* huge_pages.h: large tables that are accessed at random, in huge pages of the machine: a look-up misses the TLB less often. */
#ifndef UVMSIM_HUGE_PAGES_H
#define UVMSIM_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

/* Zeros, at a multiple of 64 bytes; NULL: out of memory. A large table costs no time until it is used. */
static inline void *huge_pages_zeros(size_t bytes)
{
	void *memory;

	if (bytes < 4u * HUGE_PAGE_BYTES) {
		memory = aligned_alloc(64, (bytes + 63u) & ~(size_t)63u);
		return memory != NULL ? memset(memory, 0, bytes) : NULL;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	huge_pages_advise(memory, bytes);
	return memory;
}

/* Frees what huge_pages_zeros returned for so many bytes. */
static inline void huge_pages_free(void *memory, size_t bytes)
{
	if (bytes < 4u * HUGE_PAGE_BYTES)
		free(memory);
	else if (memory != NULL)
		(void)munmap(memory, bytes);
}

#endif
