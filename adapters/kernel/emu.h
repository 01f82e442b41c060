/* emu.h: the files of the emulated UVM driver, and their interfaces.
 *
 *   a program --ioctl, mmap--> emu_file.c   checks every argument
 *      | accesses                |
 *      v                         v
 *   emu_mapping.c             emu_gpu.c     "hardware": warps of submissions; look-ups in the GPU's page table (emu_page.c);
 *   page faults of the CPU       |          misses go to the fault ring (emu_ring.c), remote accesses are counted
 *      |                         |          (emu_counter.c); an interrupt (irq_work) reports new entries
 *      | requests (emu_ask.c)    | ring entries, notifications, touches
 *      v                         v
 *   emu_bottom.c   the bottom half, one worker, which alone changes the engine: gives it events, performs its actions
 *      |              emu_request.c  requests of programs, until they are answered
 *      |              emu_reports.c  reports of the GPUs at the beginning of a round
 *      |              emu_stalled.c  faults of stalled warps, until they are answered
 *      |              emu_engine.c   the engine: built and grown; emu_change.c: replaced by one with another policy
 *      |              emu_advice.c   advice in force, repeated to the next engine
 *      |              emu_record.c   the trace
 *      | actions (emu_pump.c)
 *      v
 *   emu_perform.c  performs actions: copies, page tables (emu_page.c), replays, flushes
 *                  emu_residency.c  attaches pages to frames (emu_frame.c), and frees the frames of departed pages
 *
 * Beside them: emu_base.c (clock, interrupt, failed checks), emu_range.c (ranges by address),
 * emu_main.c (parameters, device, life), emu_text.c (decision log and trace), emu_debugfs.c. Files
 * by layer, lowest first: base < text, frame, range < page, ring < counter, gpu < record, residency
 * < stalled < perform < engine, advice < request < pump < reports, change < bottom < ask < mapping
 * < file < debugfs < main.
 *
 * Locks:
 *
 *   the engine                  the worker, under driver->engine_lock; others may query under it (LOOK, by uvmp_service_page)
 *   page->data                  written by the worker. Read by a thread that has found the page mapped and holds the lock of
 *                               that mapping; by LOOK under engine_lock
 *   page->right[0], on[0]       CPU mappings: space->cpu_lock, shared to fill page-table entries, exclusive to change
 *   page->right[g], on[g]       mappings of GPU g: gpu->lock
 *   gpu's ring, warps, counters gpu->lock (a spinlock, taken with interrupts off: irq_work uses it)
 *   space->ranges               a maple tree with its own lock, which has a range at the pages that the program has not
 *                               unmapped. mmap adds; the worker and a refused mmap remove, both under engine_lock. When
 *                               nothing of a range is left there, every gpu->lock is taken and released once, then the range
 *                               is freed: a range found under gpu->lock or engine_lock may be used until the lock is released
 *
 * Order of locks: mmap_lock (where a program maps, unmaps or faults); engine_lock; space->cpu_lock
 * or, one after the other, the i_mmap_rwsem of the space's inode (emu_range_zap); page-table locks;
 * gpu->lock. Three more are held for a few lines, with no lock taken inside: request_lock (a list)
 * and text->lock (a mutex: log and trace), under engine_lock or without; memory->lock (emu_frame.c:
 * the free frames), under any lock held where the kernel reclaims memory, since the shrinker takes
 * it.
 *
 * The worker and LOOK under engine_lock never take mmap_lock, so a thread that holds mmap_lock may
 * take engine_lock (a refused mmap) and wait for the worker. The worker waits only for memory, but
 * that may be the memory of others. A CPU fault that fills entries may need a page for the page
 * table, which is charged to the memory cgroup of its process. It then reclaims in that cgroup
 * while it holds cpu_lock; the worker waits for cpu_lock, and all spaces wait for the worker. */
#ifndef EMU_H
#define EMU_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>

#include "uvmp_emu.h"

/* Addresses are kept as page numbers in an unsigned long, and programs rely on 4096. */
#if BITS_PER_LONG != 64 || PAGE_SIZE != 4096
#error "uvmpolicy_emu needs a 64-bit kernel with pages of 4096 bytes"
#endif

#define EMU_PROCS   (1u + UVMP_EMU_GPUS_MAX)
#define EMU_UNMAPPED 255u
#define EMU_SMS	    64u /* of each GPU; a warp with `sm` runs on SM sm % EMU_SMS */

struct emu_driver;
struct emu_gpu;
struct emu_advice;

/* -- parameters (emu_main.c) -------------------------------------------------------------------- */

struct emu_params { /* checked */
	unsigned int gpus, memory_mib, fault_entries, counter_entries, utlbs, blocks, log_kib;
	u64 seed;
	unsigned short mode;
};

/* -- pages and ranges (emu_page.c, emu_range.c) ---------------------------------------------------- */

struct emu_page {
	struct page *data[EMU_PROCS]; /* frame on each processor, NULL: none; with or without valid
				       * contents */
	u8 right[EMU_PROCS];	      /* enum uvmp_right: accesses that do not fault; UVMP_RIGHT_NONE:
				       * not mapped */
	u8 on[EMU_PROCS];	      /* processor of the mapped frame */
	bool is_filled; /* the CPU's page-table entry was filled since right[0] or on[0] changed;
			 * the kernel may have removed it */
};

/* One mmap. Pages that the program unmaps leave space->ranges; the range lives until all have. */
struct emu_range {
	struct emu_space *space;
	u64 base, bytes;
	u8 right;		/* enum uvmp_right */
	bool is_known;		/* the engine has the range; worker */
	u64 first_advice;	/* number of the newest advice that is older than the range; worker */
	u64 unmapped, stuck;		/* pages that have left space->ranges; pages that are
					 * unmapped but that the engine could not split off; worker */
	struct emu_page page[]; /* [bytes / PAGE_SIZE] */
};

/* One open file. Its mappings have a page cache of their own (an inode of a file system of the
 * module), in which the offset of a page is its address: unmap_mapping_range finds the entries by
 * that. */
struct emu_space {
	struct emu_driver *driver;
	u64 id;			   /* the engine's: 1, 2, ... */
	struct mm_struct *mm;	   /* mmgrab: compared, never used */
	struct inode *inode;	   /* its i_mapping is the page cache */
	struct rw_semaphore cpu_lock;
	struct maple_tree ranges;  /* by page number -> struct emu_range */
	struct list_head advice;   /* worker: advice in force, to be repeated to a new engine
				    * (emu_advice.c) */
	u32 advices;		   /* their number, with those that are reserved */
	u64 advice_number;	   /* of the newest advice */
};

/* emu_range.c */
struct emu_range *emu_range_find(struct emu_space *space, u64 address); /* or NULL; see "Locks" */
bool emu_range_covers(struct emu_space *space, u64 address, u64 bytes); /* every page, none unmapped */
/* Worker: removes the CPU's page-table entries of [address, address + bytes). The caller has
 * changed right[0] before. */
void emu_range_zap(struct emu_space *space, u64 address, u64 bytes);
/* Worker, at the end of FREE: the engine has released [address, address + bytes) of the range.
 * Takes the pages out of the tree and frees their frames of system memory (checks that no GPU maps
 * one). Frees a range without pages. */
void emu_range_free(struct emu_range *range, u64 address, u64 bytes);
/* Calls `use` for each piece of a range that the engine has and that touches [address, address +
 * bytes), in ascending order, until a result is not 0. Worker. */
int emu_range_each_piece(struct emu_space *space, u64 address, u64 bytes,
			 int (*use)(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument),
			 void *argument);
/* Takes [address, address + bytes) out of the tree. Frees a range that is not in the tree;
 * engine_lock is held. */
void emu_range_remove(struct emu_space *space, u64 address, u64 bytes);
void emu_range_drop(struct emu_range *range);
/* Worker: the lowest piece that is still in the tree; there is one. */
void emu_range_lowest(struct emu_range *range, u64 *address, u64 *bytes);

static inline struct emu_page *emu_range_page(struct emu_range *range, u64 address) /* an address in the range */
{
	return &range->page[(address - range->base) / PAGE_SIZE];
}

static inline struct emu_page *emu_page_find(struct emu_space *space, u64 address) /* or NULL; see "Locks" */
{
	struct emu_range *range = emu_range_find(space, address);

	return range != NULL ? emu_range_page(range, address) : NULL;
}

/* emu_mapping.c: mmap, and the CPU's page faults. */
int emu_mapping_mmap(struct emu_space *space, struct vm_area_struct *vma);

/* emu_page.c: MAP, REVOKE and UNMAP for the pages of an action. Worker; takes the lock of processor
 * `to`, and removes stale page-table entries of the CPU. Checks (emu_broken) that pages are mapped
 * only where they have a frame. */
void emu_page_map(struct emu_space *space, const struct uvmp_action *action);
void emu_page_revoke(struct emu_space *space, const struct uvmp_action *action);
void emu_page_unmap(struct emu_space *space, const struct uvmp_action *action);
/* Calls `use` for each page of `pages` (pages of the action's block) that lies in a range. Ends at
 * the first negative result, and returns it. */
int emu_page_each(struct emu_space *space, const struct uvmp_action *action, const uvmp_mask *pages,
		  int (*use)(struct emu_page *page, u64 address, const struct uvmp_action *action, void *argument), void *argument);

/* -- memory (emu_frame.c) --------------------------------------------------------------------------- */

/* Frames are single pages, cleared: under every policy no process sees the contents of another.
 * Frames that managed data no longer needs are kept in one cache, which a shrinker empties. GPU
 * memory is a table of frames by offset, filled as chunks are allocated. Called by the worker
 * unless stated. */
int emu_frame_init(struct emu_driver *driver); /* before the GPUs' */
void emu_frame_exit(struct emu_driver *driver); /* after the GPUs'; checks that all frames were
						 * returned */
struct page *emu_frame_get_cpu(struct emu_driver *driver); /* NULL: no memory */
void emu_frame_put_cpu(struct emu_driver *driver, struct page *frame);
/* The frame at `offset` of the GPU's memory, allocated at the first call; NULL: no memory. */
struct page *emu_frame_get_gpu(struct emu_gpu *gpu, u64 offset);
/* [offset, offset + bytes) holds no data. */
void emu_frame_put_gpu(struct emu_gpu *gpu, u64 offset, u64 bytes);
/* Adds frames_* of one GPU, or of all (NULL). Any thread. */
void emu_frame_stats(struct emu_driver *driver, struct emu_gpu *gpu, struct uvmp_emu_stats *stats);

/* -- hardware (emu_gpu.c, emu_ring.c, emu_counter.c) ------------------------------------------------- */

/* One warp of a submission. */
struct emu_warp {
	struct list_head link; /* in one of the GPU's lists; in none: the warp has ended */
	struct emu_job *job;
	struct uvmp_emu_access *access; /* [accesses] */
	u32 accesses, done, sm;
	s32 status;
};

/* One submission. */
struct emu_job {
	struct emu_space *space;
	struct completion ended; /* all warps have ended */
	u32 warps, running;
	struct emu_warp warp[];
};

struct emu_entry; /* an entry of the fault ring */

struct emu_gpu {
	struct emu_driver *driver;
	u32 id; /* 1..gpus */
	spinlock_t lock;
	struct task_struct *thread; /* runs the warps */
	wait_queue_head_t wait;	    /* of the thread: for runnable warps */
	struct list_head runnable, stalled, limited; /* warps; limited: runnable, but their SM is
						      * idle (LIMIT) */
	/* The fault ring: `entries` slots, one of which is always free. PUT moves first and the
	 * entry is ready some time later, as in hardware: entries from `written` on are not ready.
	 * The worker moves GET, without the lock. */
	struct emu_entry *entry;
	u32 entries, get, put, written;
	bool is_masked;	    /* interrupts */
	bool is_silent;	    /* no more interrupts */
	bool is_prefetching; /* prefetch accesses fault */
	u32 idle_sms;	/* by LIMIT */
	struct irq_work irq;
	struct emu_counters *counters;
	/* memory */
	struct xarray frames; /* by page number of its memory; emu_frame.c's */
	atomic_long_t frames_held;
	struct uvmp_emu_stats stats; /* counts of this GPU; under lock, except those that only the
				      * worker changes */
};

int emu_gpu_init(struct emu_gpu *gpu, struct emu_driver *driver, u32 id);
void emu_gpu_exit(struct emu_gpu *gpu);
/* Runs the warps of the job, and waits until all have ended. 0, or -EINTR after a fatal signal,
 * when no warp runs either. The caller has set and checked space, warps, and access, accesses and
 * sm of each warp, except for memory at the addresses; an access of 8 bytes is at a multiple of 8.
 * Faults carry aperture VID, the space's id as instance, subcontext 0. */
int emu_gpu_submit(struct emu_gpu *gpu, struct emu_job *job);
/* Worker; these count in gpu->stats. REPLAY: stalled warps run again. CANCEL: warps of the space
 * that are stalled at `address` (a page) end with -EFAULT; only_writes: only those that write or
 * use atomics. FLUSH: discards the entries up to the newest one, and returns their number
 * (is_update makes no difference to this hardware). LIMIT, TOGGLE. */
void emu_gpu_replay(struct emu_gpu *gpu);
void emu_gpu_cancel(struct emu_gpu *gpu, u64 space, u64 address, bool only_writes);
u32 emu_gpu_flush(struct emu_gpu *gpu);
void emu_gpu_limit(struct emu_gpu *gpu, u32 idle_sms);
void emu_gpu_toggle(struct emu_gpu *gpu, bool is_prefetching);

/* emu_ring.c. Put: under gpu->lock; false: the ring is full. Write: under gpu->lock; all entries
 * that were put become ready. Fetch: worker; the oldest entry, once it is ready (the wait is
 * bounded), and moves GET. False: no entry, or it was not ready in time; then unmasking interrupts
 * again. */
int emu_ring_init(struct emu_gpu *gpu);
void emu_ring_exit(struct emu_gpu *gpu);
/* Ends interrupts, from before this returns. Called before the bottom half is destroyed, without
 * submissions. */
void emu_gpu_silence(struct emu_gpu *gpu);
/* Type of a fault, by the right that the GPU has. */
static inline enum uvmp_fault_type emu_fault_type(u8 right)
{
	if (right == UVMP_RIGHT_NONE)
		return UVMP_FAULT_INVALID_PTE;
	return right == UVMP_RIGHT_READ ? UVMP_FAULT_WRITE : UVMP_FAULT_ATOMIC;
}

bool emu_ring_put(struct emu_gpu *gpu, const struct uvmp_fault *fault);
void emu_ring_write(struct emu_gpu *gpu);
bool emu_ring_fetch(struct emu_gpu *gpu, struct uvmp_fault *fault);
bool emu_ring_is_empty(struct emu_gpu *gpu);
u32 emu_ring_count(const struct emu_gpu *gpu); /* entries in the ring, ready or not */
/* Entries that were ever written, and those that GET has passed. Passed: worker. */
u64 emu_ring_written(struct emu_gpu *gpu);
u64 emu_ring_passed(struct emu_gpu *gpu);
/* Under gpu->lock: raises the interrupt if it is not masked and there are faults, notifications or
 * touches. */
void emu_ring_interrupt(struct emu_gpu *gpu);
/* Worker: unmasks the interrupt, which is raised at once if there are entries. */
void emu_gpu_unmask(struct emu_gpu *gpu);

/* emu_counter.c: one counter for 2 MiB of a space. It notifies once at `threshold` (of the policy
 * in force; 0: off), until it is cleared. Use: under gpu->lock. Fetch: worker. A touch is an access
 * that the engine uses (policies with remote or runtime, orders that count accesses): kept in a
 * small ring, which drops the newest when full. */
struct emu_touch {
	u64 space, address;
	u8 access;
};
int emu_counter_init(struct emu_gpu *gpu);
void emu_counter_exit(struct emu_gpu *gpu);
void emu_counter_set(struct emu_gpu *gpu, u32 threshold, bool wants_touches);
void emu_counter_use(struct emu_gpu *gpu, u64 space, u64 address, bool is_remote, enum uvmp_access access);
bool emu_counter_fetch(struct emu_gpu *gpu, struct uvmp_note *note);
bool emu_counter_touched(struct emu_gpu *gpu, struct emu_touch *touch);
bool emu_counter_has_entries(struct emu_gpu *gpu); /* there are notifications or touches; under
						    * gpu->lock */
void emu_counter_clear(struct emu_gpu *gpu, u32 bank, u32 tag, bool is_all);

/* -- the bottom half (emu_bottom.c, emu_request.c) --------------------------------------------------- */

enum emu_ask {
	EMU_ASK_OPEN,	  /* space: the GPUs' channels are bound (instance key: the space's id) */
	EMU_ASK_CLOSE,	  /* space: unbound; its ranges were freed before */
	EMU_ASK_ADD,	  /* range, right */
	EMU_ASK_FREE,	  /* space, range, address, bytes: munmap of a part or of all of a range; ends with emu_range_free */
	EMU_ASK_CPU_FAULT, /* space, address, access, thread */
	EMU_ASK_PREFETCH, /* space, address, bytes, processor */
	EMU_ASK_ADVISE,	  /* ... and advice */
	EMU_ASK_BEGIN,	  /* space, processor: a submission begins */
	EMU_ASK_END,	  /* space, processor, kernel: it has ended. Answered when earlier reports
			   * of the GPU are serviced */
	EMU_ASK_POLICY,	  /* policy */
};

struct emu_request {
	enum emu_ask ask;
	struct emu_space *space;
	struct emu_range *range;
	u64 address, bytes, thread;
	u32 processor, advice; /* as the engine numbers them */
	enum uvmp_access access;
	enum uvmp_right right;
	const struct uvmp_policy *policy;
	u64 kernel;   /* BEGIN: out; END: in */
	u64 until_ns; /* out: with -EAGAIN (throttled): when to fault again, on ktime_get_ns */
	int status;   /* out */
	/* private */
	struct list_head link;
	u64 ticket;
	u64 engine;   /* BEGIN, END: policy changes before the engine that made `kernel` */
	u64 reported; /* END: entries of the GPU's ring that must be read before the answer */
	struct emu_advice *kept; /* ADVISE: reserved for this advice; DISCARD: NULL */
	struct completion done;
};

int emu_bottom_init(struct emu_driver *driver);
void emu_bottom_exit(struct emu_driver *driver);
/* Gives the request to the worker and waits for its end, uninterruptibly: the worker always
 * finishes. 0 or a negative errno. May sleep; mmap_lock may be held. */
int emu_ask(struct emu_driver *driver, struct emu_request *request);
/* emu_gpu_submit between the requests BEGIN and END. */
int emu_submit(struct emu_gpu *gpu, struct emu_job *job);
/* The top half: called in hard interrupt context. */
void emu_bottom_interrupt(struct emu_driver *driver);
/* Empties log and trace. The trace then begins with the present ranges. */
void emu_bottom_clear(struct emu_driver *driver);

/* emu_perform.c: performs one action, and returns the status for the engine. */
enum uvmp_status emu_perform(struct emu_driver *driver, const struct uvmp_action *action);

/* -- text (emu_text.c) ------------------------------------------------------------------------------- */

/* A text whose newest `size` bytes are kept, in whole lines. Written by the worker; read by debugfs. */
struct emu_text {
	struct mutex lock;
	char *bytes;
	size_t size;
	u64 begin, end; /* positions: of the oldest kept line, and after the newest */
};
int emu_text_init(struct emu_text *text, size_t size);
void emu_text_exit(struct emu_text *text);
void emu_text_clear(struct emu_text *text);
void emu_text_add(struct emu_text *text, const char *line, size_t length); /* with its newline */
/* Reads whole lines from the position on, or from the oldest kept line if that is later, and moves
 * the position behind them. 0: no newer line. */
ssize_t emu_text_read(struct emu_text *text, char __user *to, size_t count, loff_t *position);

void emu_debugfs_init(struct emu_driver *driver);
void emu_debugfs_exit(struct emu_driver *driver);

/* -- all of it (emu_main.c) -------------------------------------------------------------------------- */

struct emu_driver {
	struct emu_params params;
	struct miscdevice misc;	   /* emu_main.c */
	struct vfsmount *mount;	   /* the file system of the spaces' inodes */
	struct emu_gpu gpu[UVMP_EMU_GPUS_MAX];
	atomic64_t next_space;
	/* bottom half */
	struct workqueue_struct *queue;
	struct work_struct work;
	struct hrtimer timer;	   /* for uvmp_service_wakeup_ns and the end of a pause */
	spinlock_t request_lock;   /* requests */
	struct list_head requests;
	struct mutex engine_lock;
	struct uvmp_policy policy; /* in force */
	struct uvmp_service *service;
	struct emu_bottom *bottom; /* for the files of the bottom half: emu_bottom.h */
	struct emu_memory *memory; /* private to emu_frame.c: caches, shrinker */
	struct emu_text log, trace; /* emu_main.c makes them */
	struct dentry *debugfs;
	struct uvmp_emu_stats stats; /* counts that belong to no GPU; worker */
	atomic64_t cpu_fills, broken;
	atomic_t fail_cpu_frame, fail_gpu_frame; /* for tests: the Nth request is refused; 0: none */
};

/* A check of the module has failed: it is counted, and the first few write a WARN to the kernel log. */
void emu_broken(struct emu_driver *driver, const char *what);
/* emu_file.c */
extern const struct file_operations emu_file_operations;
/* Fills all members but stats->gpu; gpu 0: sums over all GPUs. */
void emu_stats(struct emu_driver *driver, u32 gpu, struct uvmp_emu_stats *stats);

#endif
