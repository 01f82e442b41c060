/* pager.h: managed memory of which only so much is resident, paged by the engine of libuvmpolicy.
 *
 *   struct uvmp_pager_config config;
 *   struct uvmp_pager *pager;
 *   char error[256];
 *
 *   uvmp_pager_config_init(&config);
 *   config.budget_bytes = 512 << 20;
 *   config.store = "file:/var/tmp";
 *   if (uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0) ...    (negative errno; error says what is wrong)
 *   double *a = uvmp_pager_alloc(pager, (size_t)8 << 30);
 *   ... use it as any memory, from any thread ...
 *   uvmp_pager_destroy(pager);
 *
 * The memory is anonymous and registered with userfaultfd: an access to a page that is not resident stalls its
 * thread, the pager's own thread reads the faults that are pending, gives them to the engine (service.h) as the
 * faults of a GPU whose memory is the budget, and does what it decides. What does not fit lives in the backing
 * store, which stands for the CPU's memory. A page that leaves is write-protected first, written if it has
 * changed, and then dropped; no write is lost in between.
 *
 * All functions may be called from any thread. Errors are negative errno values. Managed memory may be given to
 * system calls if the process may handle faults of the kernel (uvmp_pager_features says so: root, or
 * vm.unprivileged_userfaultfd=1); without that a system call fails with EFAULT where it
 * meets a page that is not resident, or would write to one that was not changed since it came: give it other memory
 * and copy (as uvmp-run's preload_calls.c does).
 *
 * Where a page cannot be brought in (the store fails, or is full and nothing can leave) the thread gets SIGBUS, with the
 * page's address in si_value; uvmp_pager_stats tells the error. If a handler lets it go on, it tries again. What is
 * resident, and what the store has, is as it was.
 *
 * A fork'ed child goes on with a pager of its own over a copy of everything (see uvmp_pager_create). That is the work of
 * pthread_atfork: a child that the C library does not know of (clone(2) by itself, without CLONE_VM) has managed memory
 * with nobody to service it, where pages that were not resident read as zeros; it should do no more than exec. A vfork'ed
 * child shares its parent's memory and pager, as long as it lasts.
 *
 * What the program unmaps, moves or maps over by system calls of its own, without a word to the pager, is let go (if the
 * kernel tells of it: uvmp_pager_features): what lies there from then on is not touched; memory that mremap has moved has
 * all its contents, and is not managed any more, as is what mremap has added; freeing the rest leaves both alone. Two
 * things the kernel gives no means against: a thread's new mapping may lose what is written to it in the instant in which
 * another thread has unmapped managed memory there and the pager is about to drop these pages; and a child that is forked
 * in the instant in which another thread unmaps may take what lies there for managed memory. Managed memory may be
 * protected (mprotect), and dropped (MADV_DONTNEED: zeros, for a page that was resident; uvmp_pager_clear is for all).
 *
 * Two more: pages that another thread drops (MADV_DONTNEED) in the instant in which they are being written to the store
 * may hang the pager, and every thread that waits for a page with it; and dropped as they leave they may keep what they
 * held. A thread to which SIGBUS cannot be delivered (blocked, or in a system call) tries again until its page comes:
 * once 1000 of its tries have failed and no page has come meanwhile, every 10 ms, and others may wait as long.
 *
 * The store "map" is another thing: managed memory is a shared mapping of a memory file, and a page that is not
 * resident is only not mapped. Bringing it in is one UFFDIO_CONTINUE, sending it out one MADV_DONTNEED; nothing is
 * copied, and no memory is saved: the cheap way to record the trace of a program, and to study decisions. Linux 5.14;
 * -ENOTSUP before. What differs: all that leaves counts as bytes_dropped and nothing as bytes_out or write_faults,
 * as the kernel is not asked who writes; bytes_in is what was mapped again, bytes_zeroed what was mapped for the first
 * time; MADV_DONTNEED by the program itself does not clear; what mremap has moved stays a mapping of that file, shared
 * with children forked later.
 */
#ifndef UVMP_PAGER_H
#define UVMP_PAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_PAGER_BLOCK_BYTES ((uint64_t)2 << 20) /* a VABlock */

/* The least budget. An instruction ends only where all that it touches is resident together: one that moves memory to
 * memory, both operands across a border, needs four VABlocks. With less, each of its faults would evict what the one
 * before has brought, for ever. */
#define UVMP_PAGER_BUDGET_LEAST (4u * UVMP_PAGER_BLOCK_BYTES)

/* The policy if nothing else is said: the driver's, but pieces of 64 KiB leave, not whole VABlocks. A pager's budget is
 * often a few VABlocks, and a program works at more places than that: if whole ones leave, each access pushes out what
 * the next one needs. The driver's own policy is "". */
#define UVMP_PAGER_POLICY "evict=lru2m granularity=64k"

struct uvmp_pager;
struct uvmp_pager_store; /* store.h: for stores of one's own */

struct uvmp_pager_config {
	uint64_t budget_bytes;	/* resident at most, UVMP_PAGER_BUDGET_LEAST..64 TiB, whole VABlocks count */
	const char *policy;	/* policy string (policy.h); NULL: that of the environment variable UVMP_POLICY, or
				 * UVMP_PAGER_POLICY */
	const char *store;	/* "mem": other memory of this process; "file:PATH": an unnamed file in that directory,
				 * a new or empty file, or a block device that holds nothing; "zstd", "zstd:LEVEL":
				 * compressed memory, -50..19; "map": see above. NULL: "mem" */
	struct uvmp_pager_store *own_store; /* instead of `store`; belongs to the pager from then on, also if creating
					     * it fails */
	uint64_t managed_bytes; /* most managed memory at a time, 2 MiB to about 32 TiB; 0: 64 times the budget, or
				 * that most */
	uint32_t page_bytes;	/* 4096, or 65536 (policies with evict=lru or lru2m only) */
	uint32_t batch_threads; /* threads that copy, 1..16, the pager's own among them */
	bool is_user_mode;	/* leave faults of the kernel alone, even if they could be handled */
	void (*thread_began)(void); /* called first in each thread that the pager makes, also after fork; NULL: not */
	FILE *log;		/* decision log (service.h), one action a line; NULL: none. Belongs to the caller */
	bool logs_completions;	/* the log also says when each action completed (uvmp_completion_print) */
	uint32_t sample_pages;	/* 0..4096: so many resident pages at a time are set aside, others every 10 ms, to see
				 * whether they are touched: the policy hears of it, and the trace gets a row. 0:
				 * faults alone are seen. A page costs two copies, a touch what a fault costs without
				 * the store; so N of them up to about N us each ms. Without effect with store
				 * "map". MADV_DONTNEED that goes round
				 * uvmp_pager_clear may be undone for such a page */
	const char *trace;	/* a file that is made, or emptied, and gets every fault as a row of the project's
				 * trace format (docs/uvmsim.md), with ranges, frees, prefetches and advice;
				 * NAME.zst is compressed. NULL: none */
};

/* Budget 0 (to be set), policy of the environment or UVMP_PAGER_POLICY, store "mem", pages of 4096 bytes, one thread. */
void uvmp_pager_config_init(struct uvmp_pager_config *config);

/* Reads nothing from `config` afterwards. -EINVAL: what is wrong stands in `error` (error_bytes > 0; may be NULL), as
 * for all that follow; -EPERM, -ENOSYS: no userfaultfd for this process; -ENOTSUP: the kernel cannot
 * write-protect pages (before 5.7), without which writes would be lost, or, with store "map", not map them
 * (before 5.14); -ENOMEM; errors of the store, and of opening the trace (-ENOTSUP: built without zstd). After fork
 * the child has the same pager: resident pages are shared as fork shares memory, the store is copied (a file into an
 * unnamed one beside it), and a thread of its own services it. -EBUSY there means that the copy failed; managed
 * memory of the child then raises SIGSEGV. */
int uvmp_pager_create(const struct uvmp_pager_config *config, struct uvmp_pager **pager, char *error,
		      size_t error_bytes);
/* Managed memory is gone with it: nobody may use it any more. Closes the store. NULL: nothing. */
void uvmp_pager_destroy(struct uvmp_pager *pager);

/* Zeroed memory, aligned to 2 MiB. NULL with errno: ENOMEM (managed_bytes, address space), EINVAL (0 bytes). */
void *uvmp_pager_alloc(struct uvmp_pager *pager, size_t bytes);
/* Of uvmp_pager_alloc, the whole of it. -EINVAL: it is not. NULL: nothing. */
int uvmp_pager_free(struct uvmp_pager *pager, void *memory);
/* Part of it, as munmap does: whole pages, of page_bytes. It reads as zeros from then on, and when all parts are given back
 * the memory is freed. -EINVAL: not managed, or not whole pages. */
int uvmp_pager_unmap(struct uvmp_pager *pager, void *memory, size_t bytes);
/* Zeros from now on, as MADV_DONTNEED does. Whole pages within the range; -EINVAL: not managed. */
int uvmp_pager_clear(struct uvmp_pager *pager, void *memory, size_t bytes);
/* Bytes that may be used from here to the end of its allocation; 0: not managed. */
size_t uvmp_pager_usable(struct uvmp_pager *pager, const void *memory);

/* Brings the pages of [memory, memory + bytes) in, or sends them out to the store. Returns when done. -EINVAL: not all
 * of it is managed; -ENOMEM: no room, what came before it has come; errors of the store. */
int uvmp_pager_prefetch(struct uvmp_pager *pager, const void *memory, size_t bytes, bool is_in);

enum uvmp_pager_advice {
	UVMP_PAGER_PREFER_RESIDENT = 0, /* preferred location: the budget; */
	UVMP_PAGER_PREFER_STORE,	/* the store; */
	UVMP_PAGER_PREFER_NONE,		/* unset */
	UVMP_PAGER_ACCESSED_BY,		/* accepted, without effect: what is not resident cannot be reached */
	UVMP_PAGER_DISCARD,		/* contents of the whole pages within are not needed: pages that are not written
					 * to again leave without a write, and may read as zeros then */
	UVMP_PAGER_READ_MOSTLY		/* accepted, without effect: it asks for a copy that stays with the other
					 * processor, and what was not changed since it came is in the store anyway */
};
/* Errors as prefetch; -ENOMEM also where advice has begun or ended within allocations some 2000 times. */
int uvmp_pager_advise(struct uvmp_pager *pager, void *memory, size_t bytes, enum uvmp_pager_advice advice);

struct uvmp_pager_stats {
	uint64_t budget_bytes, managed_bytes, resident_bytes; /* now */
	uint64_t faults; /* messages of the kernel for pages that were not there */
	uint64_t duplicates; /* of these, merged into another one for the same page as a batch was fetched (count -
			      * detail of the BATCH actions). Those that the engine finds as it services the batch are
			      * not among them, nor a fault whose page has come meanwhile */
	uint64_t write_faults;	     /* first writes to clean pages, no faults for the engine */
	uint64_t touches;	     /* of pages that are there, seen by sampling */
	uint64_t batches, replays;
	uint64_t wakeups; /* threads that tried again at replays; one whose page has not come faults again at once */
	uint64_t bytes_in, copies_in, bytes_zeroed;
	uint64_t bytes_out, copies_out, bytes_dropped; /* written, also along with others that leave; left without a write */
	uint64_t evictions;
	uint64_t stall_ns;   /* sum over faults, from the message until the thread was woken */
	uint64_t service_ns; /* of the servicing thread */
	uint64_t store_bytes; /* that the store takes for what it holds */
	uint64_t peak_managed_bytes;
	uint64_t managed_most_bytes;  /* that may be managed at a time */
	uint64_t peak_resident_bytes, peak_store_bytes; /* as they were between two rounds of faults, with
							 * uvmp_pager_show_stats, or a call of uvmp_pager_stats */
	int store_error;     /* first one, negative errno; 0: none */
	int trace_error;     /* the same; the trace ends there, and reads up to it */
};
void uvmp_pager_stats(struct uvmp_pager *pager, struct uvmp_pager_stats *stats);
/* Keeps them in *shown from now on, as they are after each round of faults and each call: for another process to
 * look at, in shared memory, also when this one has died. NULL: no more. A fork'ed child begins at 0, and shows
 * nothing. */
void uvmp_pager_show_stats(struct uvmp_pager *pager, struct uvmp_pager_stats *shown);

/* Writes what the trace and the log have not written yet, which otherwise happens now and then, and in
 * uvmp_pager_destroy: for programs that leave by _exit. The trace's first error, negative errno; -EBUSY: the pager was
 * busy for a second, as it is for a signal handler that has interrupted one of these functions. */
int uvmp_pager_flush(struct uvmp_pager *pager);

/* What this kernel and process have, and what is done instead: one sentence a line, NUL-terminated, cut to `bytes`. */
void uvmp_pager_features(struct uvmp_pager *pager, char *text, size_t bytes);
/* The lowest descriptor number of the pager's own from `from` on, which must not be closed; -1: none. Takes no lock. */
int uvmp_pager_next_descriptor(const struct uvmp_pager *pager, int from);
/* Does the kernel's own access to managed memory work, as a part of system calls? */
bool uvmp_pager_serves_kernel(const struct uvmp_pager *pager);
/* The policy in canonical form (UVMP_POLICY_TEXT_MAX suffices). */
void uvmp_pager_policy(struct uvmp_pager *pager, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
