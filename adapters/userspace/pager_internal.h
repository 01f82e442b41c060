/* What the pager is made of.
 *
 *   pager.c    the program's calls, the servicing thread, fork
 *   serve.c    faults in, engine, actions out
 *   copy.c     threads that perform one copy together
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

#include <pthread.h>
#include <sys/types.h>

#include "uvmpolicy/uvmpolicy.h"

#define GPU	   1u
#define SPACE	   1u
#define BLOCK_BYTES UVMP_PAGER_BLOCK_BYTES

/* A VABlock. Pages are the engine's. */
struct block {
	uvmp_mask here;	  /* resident; */
	uvmp_mask dirty;  /* of these: may differ from what the store has */
	uvmp_mask stored; /* the store has something; other pages that are not here are zero */
	uvmp_mask wanted; /* somebody waits to write */
	uvmp_mask kept;	  /* here, though the engine has given them up: the store has failed */
};

struct area {
	uint64_t base, bytes; /* whole blocks */
	uint64_t gone;	      /* bytes that were unmapped */
	uint64_t store_page;  /* where the store has its first page, in pages of 4 KiB */
	struct block *block;
};

struct areas {
	struct area **area; /* by base */
	size_t count, room;
	uint64_t bytes, most; /* of all; most: pages of the store times their size */
};

/* NULL: none. */
struct area *areas_find(const struct areas *areas, uint64_t address);
/* Whole blocks for `bytes`, at `base`. NULL: no room in the store, or out of memory. */
struct area *areas_add(struct areas *areas, uint64_t base, uint64_t asked);
void areas_remove(struct areas *areas, struct area *area);
void areas_close(struct areas *areas);

/* A thread that waits for a page. */
struct waiting {
	uint64_t address, since_ns;
	uint32_t tid;
	bool is_woken; /* it has tried again, and may have told the kernel so */
};

struct uffd {
	int fd;
	uint64_t features;
	bool serves_kernel, has_protect, has_tid;
	uint64_t page_bytes;
};

/* 0 or a negative errno. */
int uffd_open(struct uffd *uffd, bool is_user_mode, uint64_t page_bytes);
int uffd_register(const struct uffd *uffd, uint64_t base, uint64_t bytes);
void uffd_unregister(const struct uffd *uffd, uint64_t base, uint64_t bytes);
/* Nobody is woken by these; pages that are there already stay as they are. */
int uffd_copy(const struct uffd *uffd, uint64_t to, const void *from, uint64_t bytes, bool protects);
int uffd_zero(const struct uffd *uffd, uint64_t at, uint64_t bytes);
/* Zeros, if nothing is there: was anything missing? */
bool uffd_fill(const struct uffd *uffd, uint64_t at, uint64_t bytes);
int uffd_protect(const struct uffd *uffd, uint64_t at, uint64_t bytes, bool protects);
void uffd_wake(const struct uffd *uffd, uint64_t at, uint64_t bytes);

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

struct uvmp_pager {
	pthread_mutex_t lock;
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
	struct uffd uffd;
	struct uvmp_pager_store *store;
	struct areas areas;

	struct waiting *waiting;
	size_t waitings, waiting_room;
	uint8_t *bounce; /* a block */
	struct copiers copiers;

	FILE *log, *trace;
	uint32_t *agent; /* thread ids by number in the trace */
	uint32_t agents, agent_room;
	uint64_t start_ns;

	struct uvmp_pager_stats stats;
	int error; /* of the action in hand */
	bool has_kept; /* some block may */
};

uint64_t pager_now_ns(void);
/* A thread that gets none of the program's signals. 0 or a negative errno. */
int pager_thread(pthread_t *thread, void *(*begin)(void *), void *context);

/* -- serve.c; the lock is held -- */

/* Takes what the kernel has to say, as far as the engine has room for it. True: there may be more. */
bool serve_take(struct uvmp_pager *pager);
/* Performs the engine's actions until it has none. Status of the request `ticket`, UVMP_OK without. */
enum uvmp_status serve_pump(struct uvmp_pager *pager, uint64_t ticket);
/* What the pages hold is gone: they read as zeros. */
void serve_clear(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);
/* What the pages hold is not needed any more: they count as clean, and as never stored. */
void serve_disown(struct uvmp_pager *pager, uint64_t base, uint64_t bytes);

#endif
