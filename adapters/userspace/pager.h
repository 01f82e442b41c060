/* pager.h: managed memory larger than what is resident, paged by the engine of libuvmpolicy.
 *
 *   #include <uvmpolicy/pager.h>
 *
 *   struct uvmp_pager_config config;
 *   struct uvmp_pager *pager;
 *   char error[256];
 *
 *   uvmp_pager_config_init(&config);
 *   config.budget_bytes = 512 << 20;
 *   config.store = "file:/var/tmp";
 *   if (uvmp_pager_create(&config, &pager, error, sizeof(error)) != 0)
 *           ... a negative errno; error has the reason ...
 *   double *a = uvmp_pager_alloc(pager, (size_t)8 << 30);
 *   ... use it as any memory, from any thread ...
 *   uvmp_pager_destroy(pager);
 *
 * The memory is anonymous and registered with userfaultfd. An access to a page that is not resident
 * stalls its thread. The pager's own thread reads the pending faults, gives them to the engine
 * (service.h) as faults of a GPU whose memory is the budget, and performs the engine's actions.
 * Other pages are in the backing store, which stands for the CPU's memory. An evicted page is first
 * write-protected, written if it has changed, and then dropped, so no write is lost.
 *
 * All functions may be called from any thread. Errors are negative errno values. Managed memory may
 * be given to system calls if the process may handle faults of the kernel (uvmp_pager_features:
 * root, or vm.unprivileged_userfaultfd=1). Without that permission a system call fails with EFAULT
 * if it meets a page that is not resident, or writes to a clean one: give it other memory and copy
 * (as preload_calls.c of uvmp-run does).
 *
 * If a page cannot be made resident (the store fails, or is full and no page can be evicted), the
 * thread gets SIGBUS with the page's address in si_value; uvmp_pager_stats has the error. If a
 * handler returns, the access is retried. Resident pages and contents of the store are unchanged.
 *
 * A forked child has a pager of its own over a copy of everything (see uvmp_pager_create), by
 * pthread_atfork. In a child that the C library does not know of (clone(2) without CLONE_VM) no
 * thread services managed memory, and pages that were not resident read as zeros; it should only
 * exec. A vforked child shares the memory and pager of its parent while it exists.
 *
 * Memory that the program unmaps, moves or maps over by its own system calls is released if the
 * kernel reports it (uvmp_pager_features). The pager does not touch other memory mapped there
 * later. Memory moved by mremap keeps its contents and is not managed afterwards, nor is memory
 * that mremap has added; freeing the allocation leaves both alone. Managed memory may be protected
 * (mprotect), and dropped (MADV_DONTNEED: zeros for pages that were resident; uvmp_pager_clear
 * covers all).
 *
 * Four races that the kernel cannot prevent:
 * - A thread's new mapping may lose writes if another thread unmapped managed memory at that
 *   address while the pager was about to drop these pages.
 * - A child that is forked while another thread unmaps may take other memory at that address for
 *   managed memory.
 * - Pages that a thread drops (MADV_DONTNEED) while they are written to the store may hang the
 *   pager, and every thread that waits for a page.
 * - Pages that are dropped while they are evicted may keep their contents.
 *
 * A thread that cannot receive SIGBUS (blocked, or in a system call) retries until its page
 * arrives. After 1000 failed retries without an arriving page it retries every 10 ms, and other
 * threads may wait as long.
 *
 * With the store "map", managed memory is a shared mapping of a memory file, and a page that is not
 * resident is only unmapped. Making it resident is one UFFDIO_CONTINUE, evicting it one
 * MADV_DONTNEED. Nothing is copied and no memory is saved: a cheap way to record traces and to
 * study decisions. It needs Linux 5.14, else -ENOTSUP. Differences: every evicted page counts in
 * bytes_dropped, none in bytes_out or write_faults, since writes are not tracked; bytes_in counts
 * pages mapped again, bytes_zeroed pages mapped for the first time; MADV_DONTNEED by the program
 * does not clear; memory moved by mremap stays a mapping of the file, shared with children forked
 * later. */
#ifndef UVMP_PAGER_H
#define UVMP_PAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What declares a public function. */
#ifndef UVMP_PAGER_API
#ifdef __GNUC__
#define UVMP_PAGER_API __attribute__((visibility("default")))
#else
#define UVMP_PAGER_API
#endif
#endif

#define UVMP_PAGER_BLOCK_BYTES ((uint64_t)2 << 20) /* a VABlock */

/* The smallest budget. An instruction completes only if all its pages are resident together. An instruction
 * that copies memory across VABlock borders on both sides needs four VABlocks; with less, each of its faults
 * would evict a page of the previous one, without end. */
#define UVMP_PAGER_BUDGET_LEAST (4u * UVMP_PAGER_BLOCK_BYTES)

/* The default policy decides by what the program does: docs/auto.md. The driver's own policy is "". */
#define UVMP_PAGER_POLICY "preset=auto"
/* The default with pages of 64 KiB: the driver's prefetcher, with evictions
 * of 64 KiB. */
#define UVMP_PAGER_POLICY_64K "evict=lru2m granularity=64k"

struct uvmp_pager;
struct uvmp_pager_store; /* store.h: for a store of your own */
struct uvmp_plugins;	 /* plugin.h: for prefetchers and eviction orders of your own */

struct uvmp_pager_config {
	uint64_t budget_bytes; /* resident at most, UVMP_PAGER_BUDGET_LEAST..64 TiB, rounded down
				* to whole VABlocks (evict=lru) or 64 KiB (other orders) */
	const char *policy;    /* policy string (policy.h); NULL: the environment variable
				* UVMP_POLICY, or UVMP_PAGER_POLICY, or with pages of 64 KiB
				* UVMP_PAGER_POLICY_64K */
	const char *store;     /* "mem": other memory of this process; "file:PATH": an unnamed file
				* in that directory, a new or empty file, or an empty block device;
				* "zstd", "zstd:LEVEL": compressed memory, -50..19; "map": see
				* above. NULL: "mem" */
	struct uvmp_pager_store *own_store; /* instead of `store`; belongs to the pager from then
					     * on, even if creation fails */
	uint64_t managed_bytes;		    /* managed memory at most, 2 MiB to about 32 TiB; 0: 64 times the
					     * budget, or that limit */
	uint32_t page_bytes;		    /* 4096, or 65536 (not with evict=lru4k|random4k|tbne) */
	uint32_t batch_threads;		    /* threads that copy, 1..16, the servicing thread included */
	bool is_user_mode;		    /* do not handle faults of the kernel, even if the process may */
	void (*thread_began)(void);	    /* called first in each thread of the pager, also after fork;
					     * NULL: none */
	FILE *log;	       /* decision log (service.h), one action a line; NULL: none. Belongs
				* to the caller */
	bool logs_completions; /* the log also has the completion of each action
				* (uvmp_completion_print) */
	uint32_t sample_pages; /* 0..4096: resident pages that are set aside at a time, others
				* every 10 ms, to detect touches: the policy gets them, and the
				* trace a row each. 0: only faults are seen. A page costs two
				* copies, a touch as much as a fault without the store; N pages
				* cost up to about N us each ms. No effect with store "map".
				* MADV_DONTNEED without uvmp_pager_clear may be undone for such a
				* page */
	const char *trace;     /* a file that is created or truncated, and gets every fault as a
				* row of the trace format (docs/uvmsim.md), with ranges, frees,
				* prefetches and advice; NAME.zst is compressed. NULL: none */
	/* Prefetchers and eviction orders of your own, which `policy` may name (docs/plugins.md). NULL: none.
	 * They must not change while the pager exists, also in children. Their functions are called with the
	 * pager's lock held: they must not access managed memory, call the pager, or wait for a thread that
	 * does. */
	const struct uvmp_plugins *plugins;
};

/* Structures of this header grow at their end only. Functions whose names end in _size take the size of the
 * caller's structure, so that a program and a library of different versions understand each other. Programs
 * in C and C++ call the functions without _size. */
UVMP_PAGER_API void uvmp_pager_config_init_size(struct uvmp_pager_config *config, size_t size);
/* Budget 0 (must be set), policy of the environment or UVMP_PAGER_POLICY, store "mem", pages of
 * 4096 bytes, one thread. */
static inline void uvmp_pager_config_init(struct uvmp_pager_config *config)
{
	uvmp_pager_config_init_size(config, sizeof(*config));
}

UVMP_PAGER_API int uvmp_pager_create_size(const struct uvmp_pager_config *config, size_t size,
					  struct uvmp_pager **pager, char *error, size_t error_bytes);
/* Does not keep `config`. Every error has a text in `error` (may be NULL). -EINVAL: the
 * configuration; -EPERM, -ENOSYS: no userfaultfd for this process; -ENOTSUP: the kernel cannot
 * write-protect pages (before 5.7), without which writes would be lost or, for store "map", cannot
 * map them (before 5.14); -ENOMEM; errors of the store, and of opening the trace (-ENOTSUP: built
 * without zstd). After fork the child has the same pager: resident pages are shared as fork shares
 * memory, the store is copied (a file into an unnamed one beside it), and a thread of the child
 * services it. If the copy fails (-EBUSY), managed memory of the child raises SIGSEGV. */
static inline int uvmp_pager_create(const struct uvmp_pager_config *config, struct uvmp_pager **pager,
				    char *error, size_t error_bytes)
{
	return uvmp_pager_create_size(config, sizeof(*config), pager, error, error_bytes);
}
/* Unmaps all managed memory, which must not be in use, and closes the store. NULL: no effect. */
UVMP_PAGER_API void uvmp_pager_destroy(struct uvmp_pager *pager);

/* Zeroed memory, aligned to 2 MiB. NULL with errno: ENOMEM (managed_bytes, address space), EINVAL
 * (0 bytes). */
UVMP_PAGER_API void *uvmp_pager_alloc(struct uvmp_pager *pager, size_t bytes);
/* Frees a whole allocation of uvmp_pager_alloc. -EINVAL: not one. NULL: no effect. */
UVMP_PAGER_API int uvmp_pager_free(struct uvmp_pager *pager, void *memory);
/* Unmaps a part of an allocation, in whole pages of page_bytes, as munmap does. It reads as zeros
 * from then on; when all parts are unmapped, the allocation is freed. -EINVAL: not managed, or not
 * whole pages. */
UVMP_PAGER_API int uvmp_pager_unmap(struct uvmp_pager *pager, void *memory, size_t bytes);
/* Zeros the whole pages within the range, as MADV_DONTNEED does. -EINVAL: not managed. */
UVMP_PAGER_API int uvmp_pager_clear(struct uvmp_pager *pager, void *memory, size_t bytes);
/* Bytes from here to the end of the allocation; 0: not managed. */
UVMP_PAGER_API size_t uvmp_pager_usable(struct uvmp_pager *pager, const void *memory);

/* Makes the pages of [memory, memory + bytes) resident, or evicts them to the store. Returns when
 * done. -EINVAL: not all of it is managed; -ENOMEM: no room for a page, after earlier pages have
 * arrived; errors of the store. */
UVMP_PAGER_API int uvmp_pager_prefetch(struct uvmp_pager *pager, const void *memory, size_t bytes,
				       bool is_in);

enum uvmp_pager_advice {
	UVMP_PAGER_PREFER_RESIDENT = 0, /* preferred location: the budget */
	UVMP_PAGER_PREFER_STORE,	/* preferred location: the store */
	UVMP_PAGER_PREFER_NONE,		/* no preferred location */
	UVMP_PAGER_ACCESSED_BY,		/* accepted, without effect: pages that are not resident
					 * cannot be accessed */
	UVMP_PAGER_DISCARD,		/* contents of the whole pages within are not needed: pages
					 * that are not written again are evicted without a write,
					 * and may read as zeros then */
	UVMP_PAGER_READ_MOSTLY		/* accepted, without effect: asks for a copy on the other
					 * processor, and clean pages have one in the store */
};
/* Errors as uvmp_pager_prefetch; -ENOMEM also after about 2000 borders of advice within allocations. */
UVMP_PAGER_API int uvmp_pager_advise(struct uvmp_pager *pager, void *memory, size_t bytes,
				     enum uvmp_pager_advice advice);

struct uvmp_pager_stats {
	uint64_t budget_bytes, managed_bytes, resident_bytes; /* at present */
	uint64_t faults;				      /* messages of the kernel for missing pages */
	uint64_t duplicates;   /* of these, merged with another one for the same page when a batch was
				* fetched (count - detail of the BATCH actions). Not included:
				* duplicates found while a batch is serviced, and faults whose page
				* has arrived meanwhile */
	uint64_t write_faults; /* first writes to clean pages, which are not faults for the
				* engine */
	uint64_t touches;      /* of resident pages, detected by sampling */
	uint64_t batches, replays;
	uint64_t wakeups; /* threads that retried at replays; a thread whose page has not arrived
			   * faults again at once */
	uint64_t bytes_in, copies_in, bytes_zeroed;
	uint64_t bytes_out, copies_out, bytes_dropped; /* written, also along with other evicted
							* pages; evicted without a write */
	uint64_t evictions;
	uint64_t stall_ns;   /* sum over faults, from the message until the thread was woken */
	uint64_t service_ns; /* of the servicing thread */
	uint64_t waited_ns;  /* time in which one thread or more waited, from the message until woken */
	uint64_t
		thrash_ns; /* of periods in which the process thrashed (docs/pager.md): grows while it does */
	uint64_t thrash_waited_ns; /* of these periods: time in which threads waited */
	uint64_t thrash_bytes;	   /* of these periods: brought again after eviction */
	uint64_t store_bytes;	   /* memory or file space of the store */
	uint64_t peak_managed_bytes;
	uint64_t managed_most_bytes;			/* that may be managed at a time */
	uint64_t peak_resident_bytes, peak_store_bytes; /* as of the end of a round of faults, with
							 * uvmp_pager_show_stats, or of a call of
							 * uvmp_pager_stats */
	int store_error;				/* the first, negative errno; 0: none */
	int trace_error;   /* the first; the trace ends there, and is valid up to there */
	uint64_t sequence; /* of statistics shown to other processes: odd while they are written. See
			    * uvmp_pager_read_stats */
};
UVMP_PAGER_API void uvmp_pager_stats_size(struct uvmp_pager *pager, struct uvmp_pager_stats *stats,
					  size_t size);
static inline void uvmp_pager_stats(struct uvmp_pager *pager, struct uvmp_pager_stats *stats)
{
	uvmp_pager_stats_size(pager, stats, sizeof(*stats));
}
UVMP_PAGER_API void uvmp_pager_show_stats_size(struct uvmp_pager *pager, struct uvmp_pager_stats *shown,
					       size_t size);
/* Keeps the statistics in *shown up to date after each round of faults and each call, for another
 * process to read in shared memory, even after this one has died. NULL: ends that. A forked child
 * begins at 0, and shows none. */
static inline void uvmp_pager_show_stats(struct uvmp_pager *pager, struct uvmp_pager_stats *shown)
{
	uvmp_pager_show_stats_size(pager, shown, sizeof(*shown));
}
UVMP_PAGER_API bool uvmp_pager_read_stats_size(const struct uvmp_pager_stats *shown,
					       struct uvmp_pager_stats *stats, size_t size);
/* Copies what uvmp_pager_show_stats keeps up to date, of this process or of another one. All figures
 * are of one moment. False: the writer did not finish (it was killed while it wrote, or did not run
 * for some time); the figures are then of two successive moments. Takes no lock. */
static inline bool uvmp_pager_read_stats(const struct uvmp_pager_stats *shown, struct uvmp_pager_stats *stats)
{
	return uvmp_pager_read_stats_size(shown, stats, sizeof(*stats));
}
/* Writes the statistics as OpenMetrics text, with "# EOF": docs/uvmp-run.md names the metrics.
 * -EINVAL: no pager or no file; else the error of writing, negative errno. */
UVMP_PAGER_API int uvmp_pager_write_metrics(struct uvmp_pager *pager, FILE *out);

/* Writes buffered lines of the trace and the log, which otherwise happens periodically and in
 * uvmp_pager_destroy: for programs that end by _exit. Returns the trace's first error, negative
 * errno; -EBUSY: the pager was busy for a second, as it is for a signal handler that interrupted
 * one of these functions. */
UVMP_PAGER_API int uvmp_pager_flush(struct uvmp_pager *pager);

/* What this kernel and process support, and the substitutes: one sentence a line, NUL-terminated,
 * cut to `bytes`. */
UVMP_PAGER_API void uvmp_pager_features(struct uvmp_pager *pager, char *text, size_t bytes);
/* The lowest descriptor of the pager, from `from` on, which must not be closed; -1: none. Takes no
 * lock. */
UVMP_PAGER_API int uvmp_pager_next_descriptor(const struct uvmp_pager *pager, int from);
/* Can system calls access managed memory that is not resident? */
UVMP_PAGER_API bool uvmp_pager_serves_kernel(const struct uvmp_pager *pager);
/* The policy in canonical form (UVMP_POLICY_TEXT_MAX suffices). */
UVMP_PAGER_API void uvmp_pager_policy(struct uvmp_pager *pager, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
