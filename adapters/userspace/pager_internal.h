/* Internals of the pager. Files by layer, lowest first; a file uses only files above it in this list.
 *
 *   pager_thread.c  clock, threads, protection of a caller from signals and cancellation
 *   threads.c       numbers of threads
 *   areas.c         managed memory by address: areas, their blocks, their pages in the store
 *   store*.c        backing stores
 *   trace_file.c    recorded traces
 *   uffd.c          userfaultfd: features of this kernel, and its calls
 *   safe_read.c     reads of managed memory that may be unmapped meanwhile
 *   copy.c          threads that perform one copy together
 *   thrash.c        does the process thrash?
 *   statistics.c    statistics and decision log
 *   sample.c        contents of the resident pages that are sampled
 *   messages.c      messages of the kernel: faults, and memory that the program unmapped or moved
 *   sampling.c      touches of resident pages
 *   pages.c, pages_in.c, pages_out.c  copies of the pages of a block
 *   discard.c       contents that the program does not need
 *   waiting.c       stalled threads
 *   actions.c       performs the engine's actions
 *   mapping.c       mappings of areas
 *   moved.c         settles memory that the program unmapped or moved
 *   faults.c        gives faults to the engine
 *   lock.c          the lock of a pager
 *   service_thread.c  the servicing thread
 *   fork.c          all pagers of the process, and its children
 *   calls.c, query.c  the program's calls about its memory, and about the pager
 *   pager.c         creation and destruction
 *
 * One lock guards everything. A thread that holds the lock must not touch managed memory that may be missing:
 * no other thread could service the fault. */
#ifndef UVMP_PAGER_INTERNAL_H
#define UVMP_PAGER_INTERNAL_H

#include "pager.h"
#include "store.h"
#include "stalled.h"
#include "trace_file.h"
#include "thrash.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>

#include "uvmpolicy/plugin.h"
#include "uvmpolicy/uvmpolicy.h"

#define GPU	      1u
#define SPACE	      1u
#define BLOCK_BYTES   UVMP_PAGER_BLOCK_BYTES
#define KERNEL_PAGE   ((uint64_t)UVMP_STORE_PAGE_BYTES)
#define SEGMENTS_MORE 7u /* arena segments beside the first: as many as the engine accepts */

/* Copies a structure between versions of it: fields that `to` lacks are left out, fields that `from` lacks become 0. */
static inline void sized_copy(void *to, size_t to_bytes, const void *from, size_t from_bytes)
{
	size_t both = to_bytes < from_bytes ? to_bytes : from_bytes;

	memcpy(to, from, both);
	memset((char *)to + both, 0, to_bytes - both);
}

/* -- pager_thread.c -- */

/* State of a thread of the program before it took a lock. */
struct pager_caller {
	int cancel_state;
	sigset_t mask;
};

/* Nanoseconds of the monotonic clock. */
uint64_t pager_now_ns(void);
/* Starts a thread that receives none of the program's signals. 0 or a negative errno. */
int pager_thread(pthread_t *thread, void *(*begin)(void *), void *context);
/* Block signals and cancellation while the thread holds a lock; restore them. */
void pager_block_signals(struct pager_caller *caller);
void pager_restore_signals(const struct pager_caller *caller);

/* -- threads.c -- */

#define THREADS_MOST (1u << 20) /* numbers that a trace can hold; then they begin again */

struct threads_one {
	uint32_t tid, number; /* tid 0: the slot is free */
};

struct threads {
	struct threads_one *one;
	uint32_t count, capacity;
};

/* Number of a thread. 0 also without a thread id (0), or out of memory. */
uint32_t threads_number(struct threads *threads, uint32_t tid);
void threads_close(struct threads *threads);

/* -- areas.c -- */

/* A VABlock, in pages of the engine. */
struct block {
	uvmp_mask resident;
	uvmp_mask dirty;   /* resident pages that may differ from the store's copy */
	uvmp_mask cleaned; /* resident pages, once dirty, that were written along with evicted neighbours. The
			    * engine is not told */
	uvmp_mask stored;  /* the store has contents; other pages that are not resident are zero */
	uvmp_mask write_wanted; /* a stalled thread wants to write */
	uvmp_mask sampled;	/* resident for the engine, while the sample holds the contents */
	uvmp_mask stranded;	/* resident though not for the engine: a copy failed half way */
	uvmp_mask unmapped;	/* by the program */
	uvmp_mask foreign; /* unmapped pages that the pager must not touch: the program unmapped them by a
			    * system call, and may have mapped other memory there */
};

struct area {
	uint64_t base, bytes; /* whole blocks */
	uint32_t page_bytes;  /* of the engine's pages */
	uint64_t mapped;      /* pages that the program has not unmapped */
	uint64_t store_page;  /* store page of the first page, in pages of 4 KiB */
	bool keeps_store;     /* its store pages stay allocated: a mapping of them remains until the process ends */
	struct block *block;
};

struct retired {
	uint64_t base, bytes;
};

struct areas {
	struct area **area;	/* by base */
	struct area **by_store; /* by store page, with freed areas that keep their store pages */
	size_t count, stored, capacity;
	struct retired *retired; /* addresses that must not be managed again */
	size_t retireds, retired_capacity;
	uint64_t bytes, most; /* of all areas; most: bytes of the store */
	uint32_t page_bytes;
};

/* The part of a range that lies in one block. */
struct part {
	struct block *block;
	uint64_t address, bytes;
	struct uvmp_region run; /* the pages it touches */
};

/* The area that holds the address, or NULL. */
struct area *areas_find(const struct areas *areas, uint64_t address);
/* Adds whole blocks for `asked` bytes at `base`. NULL: the store is full, or out of memory. */
struct area *areas_add(struct areas *areas, uint64_t base, uint64_t asked);
void areas_remove(struct areas *areas, struct area *area);
/* `address` lies in the area. */
struct block *area_block(const struct area *area, uint64_t address);
bool areas_overlap(const struct areas *areas, uint64_t base, uint64_t bytes);
/* Retires the area's addresses until the process ends. Without effect if out of memory. */
void areas_retire(struct areas *areas, const struct area *area);
bool areas_are_retired(const struct areas *areas, uint64_t base, uint64_t bytes);
void areas_close(struct areas *areas);
/* The first part of [from, end), which lies in the area. False: from is the end. */
bool area_next(const struct area *area, uint64_t from, uint64_t end, struct part *part);
/* Marks all pages that the range touches as unmapped, and as foreign if `is_foreign`. */
void area_unmap(struct area *area, uint64_t from, uint64_t bytes, bool is_foreign);
/* The next range of pages that are not foreign, from the page at `from` on. False: no such page. */
bool area_next_own(const struct area *area, uint64_t from, uint64_t *first, uint64_t *bytes);
/* Bytes from `base` to the end of the area, or to the first foreign page. 0: base is not managed. */
uint64_t area_usable(const struct area *area, uint64_t base);

/* -- uffd.c -- */

struct uffd {
	int fd;
	uint64_t features;
	bool serves_kernel, has_tid, has_events;
	bool is_mapped; /* managed memory is a mapping of the store's file */
};

/* 0 or a negative errno. -ENOTSUP: this kernel cannot write-protect pages or, for mapped memory, map them. */
int uffd_open(struct uffd *uffd, bool is_user_mode, bool is_mapped);
int uffd_register(const struct uffd *uffd, uint64_t base, uint64_t bytes);
/* Wakes the threads that are stalled there. */
int uffd_unregister(const struct uffd *uffd, uint64_t base, uint64_t bytes);
/* The next four wake no thread, and leave pages that are present as they are. -EAGAIN: the program is
 * changing its mappings; read messages until uffd_is_changing is false (messages_drain). -ENOENT: the memory
 * is not registered. After an error the call may be repeated unchanged. */
int uffd_copy(const struct uffd *uffd, uint64_t to, const void *from, uint64_t bytes, bool protects);
int uffd_zero(const struct uffd *uffd, uint64_t at, uint64_t bytes);
int uffd_protect(const struct uffd *uffd, uint64_t at, uint64_t bytes, bool protects);
/* Maps pages of the store's file. */
int uffd_continue(const struct uffd *uffd, uint64_t at, uint64_t bytes);
/* Fills missing pages from the file, or with zeros. True: a page was missing. */
bool uffd_fill(const struct uffd *uffd, uint64_t at, uint64_t bytes);
void uffd_wake(const struct uffd *uffd, uint64_t at, uint64_t bytes);
bool uffd_is_changing(const struct uffd *uffd);

/* -- safe_read.c: pages of one block; any thread. -EAGAIN: the program is unmapping them -- */

/* Replaces pages that the program dropped by zeros. Required before the pages are protected and read. */
int safe_read_prepare(const struct uffd *uffd, uint64_t from, uint64_t bytes);
int safe_read(const struct uffd *uffd, void *to, uint64_t from, uint64_t bytes);

/* -- copy.c -- */

#define COPIERS_MOST 16u

/* Copies pages [part.first, part.end); 0 or a negative errno. May run in several threads for parts of one
 * copy. */
typedef int copy_part(void *context, struct uvmp_region part);

struct copiers {
	uint32_t wanted; /* threads, the calling one included; 0: not open */
	uint32_t part_pages;
	void (*thread_began)(void);
	pthread_t helper[COPIERS_MOST];
	uint32_t helpers;
	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t begun, ended;
	copy_part *copy;
	void *context;
	struct uvmp_region rest; /* not assigned to a thread yet */
	uint32_t busy;		 /* parts being copied */
	int error;
	uint32_t error_page;
	bool ends;
};

/* `threads` from 1 to COPIERS_MOST. -EAGAIN: fewer threads could be started; copies work nevertheless. */
int copiers_open(struct copiers *copiers, uint32_t threads, uint32_t page_bytes, void (*thread_began)(void));
void copiers_close(struct copiers *copiers);
/* Performs one copy, and returns when no thread works on it. After an error no part may count as copied. */
int copiers_run(struct copiers *copiers, copy_part *copy, void *context, struct uvmp_region run);

/* -- the pager -- */

/* A fault that was read from the kernel and is not serviced yet. */
struct pending {
	uint64_t address, flags; /* address 0: the fault is obsolete */
	uint32_t tid;
};

/* Memory of an area, [from, from + bytes), that the program has moved to `to`, where its stored contents
 * belong. to 0: unmapped. */
struct moved {
	uint64_t from, to, bytes;
};

#define SAMPLE_MS 10 /* period of sampling */

/* Resident pages that are set aside, so that a touch faults. */
struct sample {
	uint32_t pages, capacity, page_bytes; /* at most `pages` (0: off); allocated for `capacity` */
	uint64_t *page;			      /* their addresses, or SAMPLE_NONE */
	uint8_t *contents;		      /* of page i: sample_contents() */
	uint64_t cursor, turn_ns;
	uint32_t round;
};

struct uvmp_pager {
	pthread_mutex_t lock;
	struct pager_caller caller; /* of the program's call that holds the lock */
	pthread_t thread;
	int stop[2]; /* a pipe; closing it ends the servicing thread */
	bool is_running;
	void (*thread_began)(void);
	struct uvmp_pager *next; /* in the process, for fork */

	struct uvmp_policy policy;
	uint32_t page_bytes;
	uint32_t fault_capacity; /* faults that the engine takes before its actions must be performed */
	struct uvmp_service *service;
	void *arena;
	size_t arena_bytes;
	void *segment[SEGMENTS_MORE]; /* arena segments beside the first, of the same size; NULL: not
					 allocated */
	struct uffd uffd;
	struct uvmp_pager_store *store;
	struct areas areas;

	struct threads threads;
	struct stalled_queue stalled;
	bool wants_touches; /* the policy uses touches */
	uint64_t now_ns; /* the engine's clock: whole microseconds of the batch, and one more for each replay
			  */
	uint64_t throttled_until_ns; /* of the last THROTTLE; 0: none since */
	struct pending *pending;
	size_t pendings, pending_capacity;
	struct moved *moved;
	size_t moves, moved_capacity;
	uint8_t *bounce; /* a block */
	struct copiers copiers;

	struct thrash thrash;
	struct sample sample;
	FILE *log;
	bool logs_completions;
	struct trace_file *trace; /* NULL: no recording */
	uint64_t start_ns;

	struct uvmp_pager_stats stats, *shown; /* shown: shared statistics; NULL: none */
	size_t shown_bytes;		       /* of the caller's version of the structure */
	int error;			       /* of the current action */
	bool has_stranded;		       /* a block may have stranded pages */
	uint32_t cancels;		       /* since a page arrived */
};

/* The functions of all files below require the lock. */

/* -- statistics.c -- */

void statistics_count(struct uvmp_pager *pager, struct uvmp_pager_stats *stats);
/* Updates the shared statistics, if there are any. */
void statistics_publish(struct uvmp_pager *pager);
/* Writes one line of the decision log, which must be open. A file that becomes too large is an error of the
 * log, and raises no signal. */
void pager_log(struct uvmp_pager *pager, const char *line);
/* Writes buffered lines, if a log is open. */
void pager_log_flush(struct uvmp_pager *pager);

/* -- sample.c -- */

#define SAMPLE_NONE UINT64_MAX

/* 0 or -ENOMEM. */
int sample_open(struct sample *sample, uint32_t pages, uint32_t page_bytes);
void sample_close(struct sample *sample);
uint8_t *sample_contents(const struct sample *sample, uint32_t i);
/* The block of a managed address, and the page in the block. */
struct block *sample_block(const struct uvmp_pager *pager, uint64_t address, uint32_t *page);
/* Discards the contents of sampled pages in [base, base + bytes). */
void sample_forget(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);
/* Writes them to the store instead. The pages are not resident afterwards. */
void sample_store(struct uvmp_pager *pager, const struct area *area, uint64_t base, uint64_t bytes);

/* -- messages.c -- */

#define MESSAGES_MOST 256u

/* Reads up to `most` messages, MESSAGES_MOST or fewer, and returns their number. Faults become pending. Pages
 * of unmapped or moved memory become foreign at once. */
uint32_t messages_read(struct uvmp_pager *pager, uint32_t most);
/* Reads messages until the program is not changing its mappings. May be called within an action. */
void messages_drain(struct uvmp_pager *pager);
/* Drops pending faults in [at, at + bytes): their threads were woken. */
void messages_forget(struct uvmp_pager *pager, uint64_t at, uint64_t bytes);

/* -- sampling.c -- */

/* Takes another sample, if the period is over. */
void sample_turn(struct uvmp_pager *pager);
/* A sampled page was touched: makes it present again and wakes its threads. False: that failed. */
bool sample_touch(struct uvmp_pager *pager, uint64_t address, bool is_write);
/* Makes sampled pages in [base, base + bytes) present again. 0 or a negative errno. */
int sample_restore(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);

/* -- pages.c -- */

/* Pages of one block that several threads may copy; they only read the block's state. */
struct copy {
	struct uvmp_pager *pager;
	const struct area *area;
	const struct block *block;
	struct uvmp_region run;
	const uint8_t *data; /* of the run; NULL: each thread reads its part */
};

uint64_t pages_address(const struct uvmp_pager *pager, const struct area *area, const struct block *block,
		       uint32_t page);
uint64_t pages_store_page(const struct uvmp_pager *pager, const struct area *area, const struct block *block,
			  uint32_t page);
uint64_t pages_bytes(const struct uvmp_pager *pager, struct uvmp_region run);
/* Page of the block at which the action's block begins: advice splits the engine's blocks. */
uint32_t pages_first(const struct uvmp_pager *pager, const struct uvmp_action *action);
/* The longest run from within.first on, inside `within`, whose pages are all in the set or all outside. */
struct uvmp_region pages_next_part(const uvmp_mask *set, struct uvmp_region within, bool *is_in);
/* Notes the error of a copy, and returns it. */
int pages_note_error(struct uvmp_pager *pager, int error);
/* The engine's status for a negative errno. */
enum uvmp_status pages_status(int error);
/* Unmaps the run, but for foreign pages. */
void pages_drop(struct uvmp_pager *pager, const struct area *area, struct block *block,
		struct uvmp_region run);
/* The pages of the run that are present, and those of which only a part is. */
void pages_find_present(const struct uvmp_pager *pager, const struct area *area, const struct block *block,
			struct uvmp_region run, uvmp_mask *present, uvmp_mask *in_part);

/* -- pages_in.c -- */

/* Performs POPULATE, or COPY, to the GPU. */
enum uvmp_status pages_in(struct uvmp_pager *pager, const struct uvmp_action *action, struct uvmp_region transfer);

/* -- pages_out.c -- */

/* Performs COPY to the CPU. */
enum uvmp_status pages_out(struct uvmp_pager *pager, const struct uvmp_action *action, struct uvmp_region transfer);
/* Writes stranded pages to the store, if it works again. */
void pages_out_stranded(struct uvmp_pager *pager);

/* -- discard.c: ranges of one area -- */

/* The contents are not needed: the pages count as clean, and as never stored. */
void discard_contents(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);
/* The pages read as zeros from now on. */
void discard_and_zero(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);

/* -- waiting.c -- */

/* Copied; is_told and was_told are set. */
void waiting_add(struct uvmp_pager *pager, const struct stalled *fault);
/* Gives the engine the faults for which its buffer was full. Cheap if there are none. */
void waiting_report(struct uvmp_pager *pager);
void waiting_replay(struct uvmp_pager *pager);
void waiting_bottom_half_ended(struct uvmp_pager *pager);

/* -- actions.c -- */

/* Performs the engine's actions until it has none. Returns the status of the request `ticket`; UVMP_OK for
 * ticket 0. */
enum uvmp_status actions_perform(struct uvmp_pager *pager, uint64_t ticket);
/* Performs a request that returned `queued` and `ticket`. 0 or a negative errno. */
int actions_finish(struct uvmp_pager *pager, enum uvmp_status queued, uint64_t ticket);

/* -- mapping.c -- */

/* Maps a part of an area of a mapped store. False: the kernel refused. */
bool mapping_map(const struct uvmp_pager *pager, const struct area *area, uint64_t first, uint64_t bytes);
/* Unmaps the area and frees its store pages. */
void mapping_unmap(struct uvmp_pager *pager, const struct area *area);
/* Frees the area: the engine's range, the mapping, and the area itself. */
void mapping_free(struct uvmp_pager *pager, struct area *area);

/* -- moved.c -- */

/* Copies stored contents to where the program has moved their pages, and frees areas without mapped pages. */
void moved_settle(struct uvmp_pager *pager);
/* A fault in memory that is not managed: the kernel services this memory from now on. */
void moved_release(struct uvmp_pager *pager, uint64_t address);

/* -- faults.c -- */

/* Services all pending faults, and those that arrive meanwhile. */
void faults_service(struct uvmp_pager *pager);

/* -- lock.c -- */

/* A call of the program takes the lock, and releases it. */
void pager_enter(struct uvmp_pager *pager);
void pager_leave(struct uvmp_pager *pager);
/* Releases the lock in any thread; signals stay as they are. */
void pager_release(struct uvmp_pager *pager);

/* -- service_thread.c -- */

int pager_start(struct uvmp_pager *pager, uint32_t copy_threads);
void pager_stop(struct uvmp_pager *pager);

/* -- fork.c -- */

void pager_list_add(struct uvmp_pager *pager);
void pager_list_remove(struct uvmp_pager *pager);

#endif
