/* What the pager is made of.
 *
 *   pager.c    creating one, and its end
 *   calls.c    the program's calls about its memory; look.c: what a pager tells of itself
 *   enter.c    the lock, as calls take it
 *   servicing.c  the servicing thread
 *   fork.c     all pagers of the process, and children
 *   serve.c    faults in, engine, actions out
 *   pages.c    what copies do: pages of a block in and out
 *   waiting.c  threads that wait for a page
 *   threads.c  their numbers
 *   sample.c   touches of pages that are resident
 *   trace_file.c  what is recorded
 *   copy.c     threads that perform one copy together
 *   away.c     managed memory that the program unmaps or moves behind the pager's back
 *   peek.c     reading managed memory that may be unmapped meanwhile
 *   uffd.c     userfaultfd: what this kernel can do, and the calls
 *   areas.c    managed memory by address: areas, their blocks, their places in the store
 *   store*.c   backing stores
 *
 * One lock guards everything. Whoever holds it must not touch managed memory that may be missing: nobody would
 * service the fault. */
#ifndef UVMP_PAGER_INTERNAL_H
#define UVMP_PAGER_INTERNAL_H

#include "pager.h"
#include "store.h"
#include "trace_file.h"

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "uvmpolicy/uvmpolicy.h"

#define GPU	   1u
#define SPACE	   1u
#define UTLBS	   64u /* threads share them by number */
#define BLOCK_BYTES UVMP_PAGER_BLOCK_BYTES
#define PIECES_MORE 7u /* of arena, beside the first: as many as the engine takes */

/* A VABlock. Pages are the engine's. */
struct block {
	uvmp_mask here;	  /* resident; */
	uvmp_mask dirty;  /* of these: may differ from what the store has */
	uvmp_mask washed; /* were dirty, and are clean as they were written along with others. The engine knows nothing of it */
	uvmp_mask stored; /* the store has something; other pages that are not here are zero */
	uvmp_mask wanted; /* somebody waits to write */
	uvmp_mask aside;  /* here for the engine, but the sample has the contents */
	uvmp_mask kept;	  /* here, though the engine counts on none of it: a copy has failed half way */
	uvmp_mask gone;	  /* the program has unmapped them; */
	uvmp_mask lost;	  /* of these: behind our back. Nothing of ours is there, and foreign memory may be */
};

struct area {
	uint64_t base, bytes; /* whole blocks */
	uint32_t page_bytes;  /* of the engine's pages */
	uint64_t held;	      /* of these, that are not gone */
	uint64_t store_page;  /* where the store has its first page, in pages of 4 KiB */
	bool is_kept;	      /* its place in the store stays taken: something is mapped there for good */
	struct block *block;
};

struct retired {
	uint64_t base, bytes;
};

struct areas {
	struct area **area; /* by base */
	struct area **place; /* by their places in the store: with those that are freed, but for these */
	size_t count, places, room;
	struct retired *retired; /* addresses that must not be managed again */
	size_t retireds, retired_room;
	uint64_t bytes, most; /* of all; most: pages of the store times their size */
	uint32_t page_bytes;
};

/* NULL: none. */
struct area *areas_find(const struct areas *areas, uint64_t address);
/* Whole blocks for `bytes`, at `base`. NULL: no room in the store, or out of memory. */
struct area *areas_add(struct areas *areas, uint64_t base, uint64_t asked);
void areas_remove(struct areas *areas, struct area *area);
/* `address` lies in the area. */
struct block *area_block(const struct area *area, uint64_t address);
bool areas_overlap(const struct areas *areas, uint64_t base, uint64_t bytes);
/* The area's addresses, for good; nothing if out of memory. */
void areas_retire(struct areas *areas, const struct area *area);
bool areas_are_retired(const struct areas *areas, uint64_t base, uint64_t bytes);
void areas_close(struct areas *areas);

/* Threads by their numbers. */
#define THREADS_MOST (1u << 20) /* numbers that a trace can hold; then they begin again */

struct threads_one {
	uint32_t tid, number; /* tid 0: a free place */
};

struct threads {
	struct threads_one *one;
	uint32_t count, room;
};

/* 0, too, without a thread id (0) or memory. */
uint32_t threads_number(struct threads *threads, uint32_t tid);
void threads_close(struct threads *threads);
/* What of a range lies in one block. */
struct part {
	struct block *block;
	uint64_t address, bytes;
	struct uvmp_region run; /* pages that it touches */
};

/* The first part of [from, end), which lies in the area. False: from is the end. */
bool area_next(const struct area *area, uint64_t from, uint64_t end, struct part *part);
/* All pages that the range touches are gone. */
void area_give(struct area *area, uint64_t from, uint64_t bytes, bool is_lost);
/* The next stretch of pages that are not lost, from the page `from` on; false: there is none. */
bool area_next_ours(const struct area *area, uint64_t from, uint64_t *first, uint64_t *bytes);

/* A thread that waits for a page. */
struct waiting {
	uint64_t address, since_ns;
	uint32_t tid, thread; /* its id, and its number */
	bool is_write, is_cancelled;
	bool is_told, was_told; /* has the engine the fault since the last replay, and had it before? */
};

/* A fault that was read, and waits for its turn. */
struct heard {
	uint64_t address, flags; /* address 0: it is over */
	uint32_t tid;
};

/* [from, from + bytes) of an area is lost. What the store has of it belongs at `to` from now on; 0: nowhere. */
struct departed {
	uint64_t from, to, bytes;
};

struct uffd {
	int fd;
	uint64_t features;
	bool serves_kernel, has_tid, has_events;
	bool is_mapped; /* memory is a mapping of the store's file */
};

/* 0 or a negative errno. -ENOTSUP: this kernel cannot protect pages, or, for mapped memory, map them. */
int uffd_open(struct uffd *uffd, bool is_user_mode, bool is_mapped);
int uffd_register(const struct uffd *uffd, uint64_t base, uint64_t bytes);
int uffd_unregister(const struct uffd *uffd, uint64_t base, uint64_t bytes); /* wakes who waits there */
/* Nobody is woken by these; pages that are there already stay as they are. -EAGAIN: the program is changing its
 * mappings; uffd_is_changing until it has been heard (away_listen). -ENOENT: that is no memory of ours. After an error
 * the call may be made again as it was. */
int uffd_copy(const struct uffd *uffd, uint64_t to, const void *from, uint64_t bytes, bool protects);
int uffd_zero(const struct uffd *uffd, uint64_t at, uint64_t bytes);
int uffd_protect(const struct uffd *uffd, uint64_t at, uint64_t bytes, bool protects);
int uffd_continue(const struct uffd *uffd, uint64_t at, uint64_t bytes); /* maps what the file has */
/* What the file has, or else zeros, if nothing is there: was anything missing? */
bool uffd_fill(const struct uffd *uffd, uint64_t at, uint64_t bytes);
void uffd_wake(const struct uffd *uffd, uint64_t at, uint64_t bytes);
bool uffd_is_changing(const struct uffd *uffd);

/* -- peek.c: pages of one block; any thread. -EAGAIN: they are being unmapped -- */

/* Pages that the program has dropped are there again, as zeros: before they are protected, and then read. */
int peek_prepare(const struct uffd *uffd, uint64_t from, uint64_t bytes);
int peek(const struct uffd *uffd, void *to, uint64_t from, uint64_t bytes);

#define COPIERS_MOST 16u

/* Copies pages [part.first, part.outer); 0 or a negative errno. May run in several threads for parts of one copy. */
typedef int copy_part(void *context, struct uvmp_region part);

struct copiers {
	uint32_t wanted; /* threads, with the one that asks; 0: not open */
	uint32_t part_pages;
	void (*thread_began)(void);
	pthread_t helper[COPIERS_MOST];
	uint32_t helpers;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t begun, ended;
	copy_part *copy;
	void *context;
	struct uvmp_region rest; /* that nobody has taken yet */
	uint32_t busy;		 /* parts in work */
	int error;
	uint32_t error_page;
	bool ends;
};

/* `threads` from 1 to COPIERS_MOST. -EAGAIN: fewer than that could be made; works all the same. */
int copiers_open(struct copiers *copiers, uint32_t threads, uint32_t page_bytes, void (*thread_began)(void));
void copiers_close(struct copiers *copiers);
/* One copy at a time. Comes back when nobody works on it any more. After an error no part may count as copied. */
int copiers_run(struct copiers *copiers, copy_part *copy, void *context, struct uvmp_region run);

#define SAMPLE_MS 10 /* from turn to turn */

/* Pages that are resident and set aside, to see whether they are touched. */
struct sample {
	uint32_t pages, room, page_bytes; /* at most, 0: none; and there is room for */
	uint64_t *page;		    /* their addresses */
	uint8_t *aside;		    /* and contents */
	uint64_t cursor, turn_ns;
	uint32_t round;
};

/* 0 or -ENOMEM. */
int sample_open(struct sample *sample, uint32_t pages, uint32_t page_bytes);
void sample_close(struct sample *sample);

/* What a thread of the program was like before it came in. */
struct pager_caller {
	int cancel_state;
	sigset_t mask;
};

struct uvmp_pager {
	pthread_mutex_t lock;
	struct pager_caller caller; /* of the program's call that holds the lock */
	pthread_t thread;
	int stop[2]; /* a pipe: closed when the servicing thread is to end */
	bool is_running;
	void (*thread_began)(void);
	struct uvmp_pager *next; /* of the process, for fork */

	struct uvmp_policy policy;
	uint32_t page_bytes;
	uint32_t fault_room; /* faults that the engine takes before it is pumped */
	struct uvmp_service *service;
	void *arena;
	size_t arena_bytes;
	void *more[PIECES_MORE]; /* pieces of arena beside the first, as large as that; NULL: not taken yet */
	struct uffd uffd;
	struct uvmp_pager_store *store;
	struct areas areas;

	struct threads threads;
	struct waiting *waiting; /* in the order in which they came */
	size_t waitings, untold, waiting_room;
	uint32_t idle;		     /* bottom halves in a row that released nobody */
	bool is_released;	     /* somebody has gone on in this one */
	bool wants_touches;	     /* the policy looks at touches */
	uint64_t now_ns;	     /* the engine's clock: whole microseconds; of the batch, and one more for each replay */
	uint64_t throttled_until_ns; /* of the last THROTTLE; 0: none since */
	struct heard *heard;
	size_t heards, heard_room;
	struct departed *departed;
	size_t departures, departed_room;
	uint8_t *bounce; /* a block */
	struct copiers copiers;

	struct sample sample;
	FILE *log;
	bool logs_completions;
	struct trace_file *trace; /* NULL: nothing is recorded */
	uint64_t start_ns;

	struct uvmp_pager_stats stats, *shown; /* shown: to others; NULL: not */
	int error; /* of the action in hand */
	bool has_kept; /* some block may */
	uint32_t vain; /* cancels since pages came last */
};

uint64_t pager_now_ns(void);
/* Statistics to who looks from outside (look.c); the lock is held. */
void pager_show(struct uvmp_pager *pager);
/* One line of the decision log, which there is; and what of it is not written yet, if there is a log. A file that becomes
 * too large is an error of the log, and raises no signal. */
void pager_log(struct uvmp_pager *pager, const char *line);
void pager_log_flush(struct uvmp_pager *pager);

/* -- enter.c -- */

/* No signal and no cancelling while a lock is held. */
void pager_hold_off(struct pager_caller *caller);
void pager_hold_off_no_more(const struct pager_caller *caller);
/* A call of the program has the lock; and gives it back. */
void pager_enter(struct uvmp_pager *pager);
void pager_leave(struct uvmp_pager *pager);
/* Gives the lock back, of whoever took it. */
void pager_release(struct uvmp_pager *pager);

/* -- servicing.c -- */

/* A thread that gets none of the program's signals. 0 or a negative errno. */
int pager_thread(pthread_t *thread, void *(*begin)(void *), void *context);
int pager_start(struct uvmp_pager *pager, uint32_t copy_threads);
void pager_stop(struct uvmp_pager *pager);

/* -- fork.c: all pagers of the process -- */

void pager_list_add(struct uvmp_pager *pager);
void pager_list_remove(struct uvmp_pager *pager);

/* -- waiting.c; the lock is held -- */

/* Copied; is_told and was_told are found out. */
void waiting_add(struct uvmp_pager *pager, const struct waiting *waiting);
/* Tells the engine what it had no room for; cheap if there is nothing. */
void waiting_report(struct uvmp_pager *pager);
void waiting_replay(struct uvmp_pager *pager);
void waiting_bottom_half_ended(struct uvmp_pager *pager);

/* -- sample.c; the lock is held -- */

/* Another sample, if it is time. */
void sample_turn(struct uvmp_pager *pager);
/* The page, which is set aside, was touched: it is back, and whoever waited goes on. False: it is not. */
bool sample_touch(struct uvmp_pager *pager, uint64_t address, bool is_write);
/* Pages of [base, base + bytes) get their contents back (0 or a negative errno), or lose them. */
int sample_restore(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);
void sample_forget(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);
/* Or they go to the store, where the area has its place, and are not here any more. */
void sample_depart(struct uvmp_pager *pager, const struct area *area, uint64_t base, uint64_t bytes);

/* -- calls.c; the lock is held -- */

/* The range is no memory of the engine's any more; what is not lost is unmapped. */
void pager_free_area(struct uvmp_pager *pager, struct area *area);
/* Its address space is the program's no more. */
void pager_unmap_area(struct uvmp_pager *pager, const struct area *area);
/* Part of an area of a mapped store. */
bool pager_map_area(const struct uvmp_pager *pager, const struct area *area, uint64_t first, uint64_t bytes);

/* -- pages.c; the lock is held -- */

/* What the engine's POPULATE and COPY to the GPU say, and its COPY to the CPU. */
enum uvmp_status pages_bring(struct uvmp_pager *pager, const struct uvmp_action *action);
enum uvmp_status pages_send(struct uvmp_pager *pager, const struct uvmp_action *action);
/* Pages that were kept after an error leave, if the store works again. */
void pages_send_kept(struct uvmp_pager *pager);
/* Pages of the run count as clean, and as never stored. */
void pages_disown(struct uvmp_pager *pager, const struct area *area, struct block *block, struct uvmp_region run);

/* -- serve.c; the lock is held -- */

/* Services the faults that were heard, and those that the kernel has to say meanwhile. */
void serve_all(struct uvmp_pager *pager);
/* Performs the engine's actions until it has none. Status of the request `ticket`, UVMP_OK without. */
enum uvmp_status serve_pump(struct uvmp_pager *pager, uint64_t ticket);
/* What the pages hold is gone: they read as zeros. */
void serve_clear(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);
/* What the pages hold is not needed any more: they count as clean, and as never stored. */
void serve_disown(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);

/* -- away.c; the lock is held -- */

#define AWAY_HEAR_MOST 256u

/* Reads up to `most` messages, AWAY_HEAR_MOST or fewer: how many there were. Faults are kept for serve_all; of what is
 * unmapped or moved the area's pages are lost at once. */
uint32_t away_hear(struct uvmp_pager *pager, uint32_t most);
/* Hears until no change is under way. May be called in the middle of an action. */
void away_listen(struct uvmp_pager *pager);
/* Brings contents to where the program has moved them, and frees areas of which nothing is held. */
void away_settle(struct uvmp_pager *pager);
/* A fault where nothing of ours is: the kernel serves that memory from now on. */
void away_let_go(struct uvmp_pager *pager, uint64_t address);

#endif
