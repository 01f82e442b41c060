/* emu.h: the rooms of the emulated UVM driver, and what each gives the others.
 *
 *   a program ──ioctl, mmap──► emu_file.c   every argument is looked at here, and nowhere else
 *      │ touches                  │
 *      ▼                          ▼
 *   emu_range.c                emu_gpu.c    "hardware": warps of submissions; look-ups in the GPU's page table (emu_page.c);
 *   page faults of the CPU        │         what misses goes into the fault ring (emu_ring.c), what is remote is counted
 *      │                          │         (emu_counter.c); an interrupt (irq_work) when there is something new
 *      │ requests                 │ ring entries, notifications, touches
 *      ▼                          ▼
 *   emu_bottom.c   the bottom half, one worker: feeds the engine events, pulls actions. Nobody else changes anything in the engine
 *      │              emu_request.c  what programs ask for, until it is answered
 *      │              emu_waiting.c  what GPUs report, until it is answered
 *      │              emu_engine.c   the engine: built, grown, replaced by one with another policy
 *      │              emu_advice.c   advice that is in force, for the next engine
 *      │              emu_record.c   the trace
 *      │ actions
 *      ▼
 *   emu_perform.c  carries actions out: copies, page tables (emu_page.c), replays, flushes
 *                  emu_place.c  in which frames (emu_frame.c) pages lie, and what becomes of those that they leave
 *
 * beside them: emu_main.c (parameters, device, life), emu_text.c (text that is kept: decision log and trace), emu_debugfs.c.
 *
 * Who may touch what:
 *
 *   the engine                  the worker, under driver->engine_lock; others may look under it (LOOK, by uvmp_service_page)
 *   page->data                  written by the worker. Read by whoever has found the page mapped, while he holds the lock of
 *                               that mapping; by LOOK under engine_lock
 *   page->right[0], on[0]       CPU mappings: space->cpu_lock, shared to fill page-table entries in, exclusive to change
 *   page->right[g], on[g]       mappings of GPU g: gpu->lock
 *   gpu's ring, warps, counters gpu->lock (a spinlock, taken with interrupts off: irq_work comes in)
 *   space->ranges               a maple tree with its own lock, in which a range has the pages that the program has not unmapped:
 *                               mmap adds; the worker takes out, and a mmap that was refused does, both under engine_lock. When
 *                               nothing of a range is left there, every gpu->lock is taken and let go once, then it is freed: who
 *                               finds a range under gpu->lock, or under engine_lock, may use it until he lets go
 *
 * Order of locks: mmap_lock (where a program maps, unmaps or faults); engine_lock; space->cpu_lock or, one after the other, the i_mmap_rwsem
 * of the space's inode (emu_range_zap); page-table locks; gpu->lock. Three more are held for a few lines, and nothing is taken inside:
 * request_lock (a list) and text->lock (a mutex: log and trace), under engine_lock or without; memory->lock (emu_frame.c: the free frames),
 * under whatever is held where the kernel looks for memory, for the shrinker takes it.
 *
 * The worker never takes mmap_lock, nor does LOOK under engine_lock, so whoever holds it may take engine_lock (a mmap that was refused)
 * and wait for the worker. The worker waits for nobody but memory; but that may be the memory of others. A CPU fault that fills entries
 * in may need a page for the page table, which its process' memory cgroup is charged for: it then reclaims in that cgroup while it holds
 * cpu_lock, and the worker, who wants it exclusively, waits for it, and with the worker all spaces. */
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

#include <uvmpolicy/uvmpolicy.h>

#include "uvmp_emu.h"

/* Addresses are kept as page numbers in an unsigned long, and the contract with programs says 4096. */
#if BITS_PER_LONG != 64 || PAGE_SIZE != 4096
#error "uvmpolicy_emu needs a 64-bit kernel with pages of 4096 bytes"
#endif

#define EMU_PROCS   (1u + UVMP_EMU_GPUS_MAX)
#define EMU_NOWHERE 255u
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
	struct page *data[EMU_PROCS]; /* its frame on each processor, NULL: none. With or without contents that count */
	u8 right[EMU_PROCS];	      /* enum uvmp_prot: what each may do without a fault; UVMP_PROT_NONE: not mapped */
	u8 on[EMU_PROCS];	      /* and in whose frame */
	bool is_filled; /* the CPU's page-table entry was filled in since right[0] or on[0] changed; it may have gone again */
};

/* One mmap. What the program unmaps of it leaves space->ranges; it lives until all has. */
struct emu_range {
	struct emu_space *space;
	u64 base, bytes;
	u8 right;		/* enum uvmp_prot, and */
	bool is_known;		/* to the engine; worker */
	u64 advised_before;	/* number of the newest advice that is not about it, being older; worker */
	u64 gone, left;		/* pages of it that have left; that nobody maps, but that the engine could not cut off; worker */
	struct emu_page page[]; /* [bytes / PAGE_SIZE] */
};

/* One open file. Its mappings have a page cache of their own (an inode of a file system of the module's), in which a page's offset is
 * its address: unmap_mapping_range finds its entries by that. */
struct emu_space {
	struct emu_driver *driver;
	u64 id;			   /* of the engine: 1, 2, ... */
	struct mm_struct *mm;	   /* mmgrab: to compare, never to use */
	struct inode *inode;	   /* whose i_mapping is the page cache */
	struct rw_semaphore cpu_lock;
	struct maple_tree ranges;  /* by page number -> struct emu_range */
	struct list_head advice;   /* worker: what was advised, to say it again to a new engine (emu_advice.c), */
	u32 advices;		   /* that and what was only asked for: so many */
	u64 advice_number;	   /* of the newest */
};

/* emu_range.c */
struct emu_range *emu_range_find(struct emu_space *space, u64 address); /* NULL; see "who may touch what" */
bool emu_range_covers(struct emu_space *space, u64 address, u64 bytes); /* all of it, nothing gone */
/* Worker: the CPU's page-table entries of [address, address + bytes) go. The caller has changed right[0] before. */
void emu_range_zap(struct emu_space *space, u64 address, u64 bytes);
/* Worker, at the end of FREE: the engine has let go of [address, address + bytes) of the range. It leaves the tree, its frames of system
 * memory go back (checks that no GPU maps one); a range of which nothing is left is freed. */
void emu_range_free(struct emu_range *range, u64 address, u64 bytes);
/* Calls `use` for each piece of a range that the engine knows and that touches [address, address + bytes), in ascending
 * order, until a result is not 0. Worker. */
int emu_range_each_piece(struct emu_space *space, u64 address, u64 bytes,
			 int (*use)(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument),
			 void *argument);
/* Takes [address, address + bytes) out of the tree; frees a range that is not in the tree. engine_lock is held. */
void emu_range_remove(struct emu_space *space, u64 address, u64 bytes);
void emu_range_drop(struct emu_range *range);
/* Worker: the lowest piece that has not left; there is one. */
void emu_range_lowest(struct emu_range *range, u64 *address, u64 *bytes);

static inline struct emu_page *emu_range_page(struct emu_range *range, u64 address) /* an address in the range */
{
	return &range->page[(address - range->base) / PAGE_SIZE];
}

static inline struct emu_page *emu_page_find(struct emu_space *space, u64 address) /* NULL; see "who may touch what" */
{
	struct emu_range *range = emu_range_find(space, address);

	return range != NULL ? emu_range_page(range, address) : NULL;
}

/* emu_mapping.c: mmap, and the CPU's page faults. */
int emu_mapping_mmap(struct emu_space *space, struct vm_area_struct *vma);

/* emu_page.c: what MAP, REVOKE and UNMAP do to the pages of an action. Worker; takes the lock of processor `to` and for the CPU zaps
 * what has to go. Checks (emu_broken) that pages are mapped only where there is a frame. */
void emu_page_map(struct emu_space *space, const struct uvmp_action *action);
void emu_page_revoke(struct emu_space *space, const struct uvmp_action *action);
void emu_page_unmap(struct emu_space *space, const struct uvmp_action *action);
/* Calls `use` for each page of `pages` (a set of pages of the action's block) that lies in a range; ends at the first negative result and
 * returns it. */
int emu_page_each(struct emu_space *space, const struct uvmp_action *action, const uvmp_mask *pages,
		  int (*use)(struct emu_page *page, u64 address, const struct uvmp_action *action, void *argument), void *argument);

/* -- memory (emu_frame.c) --------------------------------------------------------------------------- */

/* Frames come one by one, as zeros: what another process left there shows nowhere, whatever a policy leaves out. Those that managed data
 * leaves are kept in one cache, which a shrinker empties. GPU memory is a table of frames by offset, filled as chunks are allocated.
 * Worker, but where it says so. */
int emu_frame_init(struct emu_driver *driver); /* before the GPUs' */
void emu_frame_exit(struct emu_driver *driver); /* behind the GPUs'; checks that all frames have come back */
struct page *emu_frame_get_cpu(struct emu_driver *driver); /* NULL: no memory */
void emu_frame_put_cpu(struct emu_driver *driver, struct page *frame);
/* The frame at `offset` of the GPU's memory. Allocated when first asked for; NULL: no memory. */
struct page *emu_frame_get_gpu(struct emu_gpu *gpu, u64 offset);
/* [offset, offset + bytes) holds nothing any more. */
void emu_frame_put_gpu(struct emu_gpu *gpu, u64 offset, u64 bytes);
/* Adds frames_* of one GPU; of everything (NULL). Anybody. */
void emu_frame_stats(struct emu_driver *driver, struct emu_gpu *gpu, struct uvmp_emu_stats *stats);

/* -- hardware (emu_gpu.c, emu_ring.c, emu_counter.c) ------------------------------------------------- */

/* One warp of a submission. */
struct emu_warp {
	struct list_head link; /* in one of the GPU's lists; in none: it has ended */
	struct emu_job *job;
	struct uvmp_emu_access *access; /* [accesses] */
	u32 accesses, done, sm;
	s32 status;
};

/* One submission. */
struct emu_job {
	struct emu_space *space;
	struct completion ended; /* all warps have */
	u32 warps, running;
	struct emu_warp warp[];
};

struct emu_entry; /* of the fault ring */

struct emu_gpu {
	struct emu_driver *driver;
	u32 id; /* 1..gpus */
	spinlock_t lock;
	struct task_struct *thread; /* runs the warps */
	wait_queue_head_t wait;	    /* of the thread: for runnable warps */
	struct list_head runnable, stalled, standing; /* warps; standing: runnable, but their SM stands still */
	/* the fault ring: `entries` slots, one of which is always free. PUT moves first, the entry is ready some time later, as
	 * hardware does it: those from `written` on are not. GET is moved by the worker, without the lock */
	struct emu_entry *entry;
	u32 entries, get, put, written;
	bool is_masked;	    /* interrupts */
	bool is_silent;	    /* none comes any more */
	bool is_prefetching; /* prefetch accesses fault */
	u32 idle_sms;	/* that stand still (LIMIT) */
	struct irq_work irq;
	struct emu_counters *counters;
	/* memory */
	struct xarray frames; /* by page number in its memory; emu_frame.c's */
	atomic_long_t frames_held;
	struct uvmp_emu_stats stats; /* what this GPU counts; under lock, but what the worker alone counts */
};

int emu_gpu_init(struct emu_gpu *gpu, struct emu_driver *driver, u32 id);
void emu_gpu_exit(struct emu_gpu *gpu);
/* Runs the warps of the job; waits until all have ended. 0, or -EINTR: a signal that kills; then no warp runs any more either. The caller
 * has set space, warps and each warp's access, accesses and sm, and has checked them, but for what lies at the addresses: whoever asks for
 * 8 bytes does so at a multiple of 8. Faults carry aperture VID, the space's id as instance, subcontext 0. */
int emu_gpu_submit(struct emu_gpu *gpu, struct emu_job *job);
/* Worker; these count what they do in gpu->stats. REPLAY: stalled warps run again. CANCEL: warps of the space that stalled at `address` (a page) end with -EFAULT; only writes and
 * atomics: only those whose access is one. FLUSH: entries up to the newest that are there go (is_update or not is the same to this hardware),
 * the number of them. LIMIT, TOGGLE. */
void emu_gpu_replay(struct emu_gpu *gpu);
void emu_gpu_cancel(struct emu_gpu *gpu, u64 space, u64 address, bool only_writes);
u32 emu_gpu_flush(struct emu_gpu *gpu);
void emu_gpu_limit(struct emu_gpu *gpu, u32 idle_sms);
void emu_gpu_toggle(struct emu_gpu *gpu, bool is_prefetching);

/* emu_ring.c. Put: under gpu->lock; false: full. Write: under gpu->lock; all entries that were put become ready. Fetch: worker; the oldest
 * entry, once it is ready (waits for it, bounded: hardware is quick), GET moves on; false: none, or it was not ready in time: then the
 * interrupt comes again when it is unmasked. */
int emu_ring_init(struct emu_gpu *gpu);
void emu_ring_exit(struct emu_gpu *gpu);
/* No interrupt comes any more: when it returns, and from then on. Before the bottom half goes; there are no submissions. */
void emu_gpu_silence(struct emu_gpu *gpu);
/* What a fault is, by the right that the GPU has. */
static inline enum uvmp_fault_type emu_fault_type(u8 right)
{
	if (right == UVMP_PROT_NONE)
		return UVMP_FAULT_INVALID_PTE;
	return right == UVMP_PROT_READ ? UVMP_FAULT_WRITE : UVMP_FAULT_ATOMIC;
}

bool emu_ring_put(struct emu_gpu *gpu, const struct uvmp_fault *fault);
void emu_ring_write(struct emu_gpu *gpu);
bool emu_ring_fetch(struct emu_gpu *gpu, struct uvmp_fault *fault);
bool emu_ring_is_empty(struct emu_gpu *gpu);
u32 emu_ring_count(const struct emu_gpu *gpu); /* entries that are there, ready or not */
/* Entries that were ever there, and those of them that GET has passed: the oldest. Passed: worker. */
u64 emu_ring_written(struct emu_gpu *gpu);
u64 emu_ring_passed(struct emu_gpu *gpu);
/* Under gpu->lock: interrupts, if something waits (faults, notifications, touches) and the interrupt is not masked. */
void emu_ring_interrupt(struct emu_gpu *gpu);
/* Worker: the interrupt may come again; it does at once if something is waiting. */
void emu_gpu_unmask(struct emu_gpu *gpu);

/* emu_counter.c: one counter for 2 MiB of a space; notifies at `threshold` (of the policy in force, 0: off), once until cleared. Use: under
 * gpu->lock. Fetch: worker. A touch is an access that the engine wants to hear of (policies with remote, runtime, orders that count): kept in a small
 * ring, the newest lost when it is full. */
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
bool emu_counter_is_waiting(struct emu_gpu *gpu); /* notifications or touches are there; under gpu->lock */
void emu_counter_clear(struct emu_gpu *gpu, u32 bank, u32 tag, bool is_all);

/* -- the bottom half (emu_bottom.c, emu_request.c) --------------------------------------------------- */

enum emu_ask {
	EMU_ASK_OPEN,	  /* space: GPUs' channels are bound (instance key: the space's id) */
	EMU_ASK_CLOSE,	  /* space: unbound; its ranges are gone already */
	EMU_ASK_ADD,	  /* range, right */
	EMU_ASK_FREE,	  /* space, range, address, bytes: munmap of a part or of all of a range; ends with emu_range_free */
	EMU_ASK_CPU_FAULT, /* space, address, access, thread */
	EMU_ASK_PREFETCH, /* space, address, bytes, processor */
	EMU_ASK_ADVISE,	  /* ... and advice */
	EMU_ASK_BEGIN,	  /* space, processor: a submission begins, and */
	EMU_ASK_END,	  /* ... and kernel: has ended. Comes back when what the GPU had reported before is settled */
	EMU_ASK_POLICY,	  /* policy */
};

struct emu_request {
	enum emu_ask ask;
	struct emu_space *space;
	struct emu_range *range;
	u64 address, bytes, thread;
	u32 processor, advice; /* the engine's numbers */
	enum uvmp_access access;
	enum uvmp_prot right;
	const struct uvmp_policy *policy;
	u64 kernel;   /* BEGIN: out; END: in */
	u64 until_ns; /* out: with -EAGAIN (throttled): when to fault again, on ktime_get_ns */
	int status;   /* out */
	/* private */
	struct list_head link;
	u64 ticket;
	u64 engine;   /* BEGIN, END: policy changes before the engine whose `kernel` it is */
	u64 reported; /* END: entries of the GPU's ring that are to be read before */
	struct emu_advice *kept; /* ADVISE: room for what will be in force; DISCARD: NULL */
	struct completion done;
};

int emu_bottom_init(struct emu_driver *driver);
void emu_bottom_exit(struct emu_driver *driver);
/* Gives the request to the worker and waits for its end, uninterruptibly: the worker always comes through. 0 or negative errno. May sleep;
 * mmap_lock may be held. */
int emu_ask(struct emu_driver *driver, struct emu_request *request);
/* emu_gpu_submit, of which the bottom half knows when it begins and ends: what the driver calls. */
int emu_submit(struct emu_gpu *gpu, struct emu_job *job);
/* The top half: called in hard interrupt context. */
void emu_bottom_interrupt(struct emu_driver *driver);
/* Empties log and trace. The trace begins with the ranges that there are. */
void emu_bottom_clear(struct emu_driver *driver);

/* emu_perform.c: carries out one action; what the engine is to be told of it. */
enum uvmp_status emu_perform(struct emu_driver *driver, struct uvmp_action *action);

/* -- text (emu_text.c) ------------------------------------------------------------------------------- */

/* A text of which the newest so many bytes are kept, whole lines. Written by the worker; read by debugfs. */
struct emu_text {
	struct mutex lock;
	char *bytes;
	size_t size;
	u64 begin, end; /* positions: of the oldest line that is kept, behind the newest */
};
int emu_text_init(struct emu_text *text, size_t size);
void emu_text_exit(struct emu_text *text);
void emu_text_clear(struct emu_text *text);
void emu_text_add(struct emu_text *text, const char *line, size_t length); /* with its newline */
/* Whole lines from the position on, or from the oldest that is kept if that is later; the position goes behind them. 0: nothing newer is
 * there. */
ssize_t emu_text_read(struct emu_text *text, char __user *to, size_t count, loff_t *position);

void emu_debugfs_init(struct emu_driver *driver);
void emu_debugfs_exit(struct emu_driver *driver);

/* -- all of it (emu_main.c) -------------------------------------------------------------------------- */

struct emu_driver {
	struct emu_params params;
	struct miscdevice misc;	   /* emu_main.c: the device, */
	struct vfsmount *mount;	   /* and the file system that spaces' inodes are of */
	struct emu_gpu gpu[UVMP_EMU_GPUS_MAX];
	atomic64_t next_space;
	/* bottom half */
	struct workqueue_struct *queue;
	struct work_struct work;
	struct hrtimer timer;	   /* uvmp_service_wakeup_ns, and the end of a rest */
	spinlock_t request_lock;   /* requests */
	struct list_head requests;
	struct mutex engine_lock;
	struct uvmp_policy policy; /* in force */
	struct uvmp_service *service;
	struct emu_bottom *bottom; /* of the bottom half's files alone: emu_bottom.h */
	struct emu_memory *memory; /* private to emu_frame.c: caches, shrinker */
	struct emu_text log, trace; /* emu_main.c makes them */
	struct dentry *debugfs;
	struct uvmp_emu_stats stats; /* what belongs to no GPU; worker, but: */
	atomic64_t cpu_fills, broken;
	atomic_t fail_cpu_frame, fail_gpu_frame; /* for tests: the Nth that is asked for is refused; 0: none */
};

/* A check of the module's own has failed: counted and, the first few times, told in the kernel log with WARN. */
void emu_broken(struct emu_driver *driver, const char *what);
/* emu_file.c */
extern const struct file_operations emu_file_operations;
/* Fills in all but stats->gpu; gpu 0: sums over everything. */
void emu_stats(struct emu_driver *driver, u32 gpu, struct uvmp_emu_stats *stats);

#endif
