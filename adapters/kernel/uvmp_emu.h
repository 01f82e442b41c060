/* uvmp_emu.h: the emulated UVM driver, as a program sees it.
 *
 * The module uvmpolicy_emu makes one device, /dev/uvmp_emu, with a few emulated GPUs. Opening it makes an address
 * space, which belongs to the process that opened it and to no other: children that inherit the descriptor get
 * EACCES from every call but INFO and STATS, and SIGBUS where they touch managed memory. Then
 *
 *   mmap(NULL, bytes, PROT_..., MAP_SHARED, fd, 0)   makes a managed range. The CPU uses it as any memory, GPUs use it
 *                                                    at the same addresses; pages move as the policy decides. With
 *                                                    PROT_WRITE, or to read for good, for all processors; never PROT_EXEC.
 *                                                    Ranges of 2 MiB and more begin at a multiple of 2 MiB if the
 *                                                    kernel chooses where. SIGBUS: an access for which there is no memory
 *   mprotect                                         is between the program and the CPU; GPUs do not see it
 *   munmap, of the whole or of any part              frees it, also while it is serviced. mremap: only to less
 *   UVMP_EMU_SUBMIT                                  is a kernel launch: warps that access memory
 *
 * Every call: 0, or -1 with errno. EFAULT: a pointer. EINVAL: a field out of its range, not whole pages, or `zero` is not
 * 0. ENOENT: pages that are not managed, or not any more when their turn comes. EACCES: of another process. ENOTTY: no such
 * call. EINTR (SUBMIT, PREFETCH_RANGE, LOOK): the process is being killed. ENOMEM. A call whose fields are refused changes
 * nothing; what a call had done before it failed stays. A descriptor that was opened O_RDONLY can ask, but cannot map
 * (EACCES, EINVAL).
 *
 * Who has the device has the memory: frames, on GPUs and on the CPU, are charged to nobody, so give it only to whom you
 * would give that memory; what the driver keeps of a range or a submission is charged to the process. There are 1024 open
 * files, all together 65536 ranges and cuts of them (by advice, by munmap of a part), and 1024 pieces of advice that are
 * in force in an address space; beyond, ENOMEM. A piece of advice is one as long as a page is there that it was about, whatever
 * was unmapped of it, and later advice has not replaced all of it. A part for which there is no room is unmapped all the same, but
 * nothing can be mapped there (ENOMEM), and GPUs still reach it, until the rest of its range is unmapped too.
 *
 * With evict=lru a GPU's memory leaves it by roots of 2 MiB, never one that holds pieces of what is coming. Where advice or
 * addresses cut VABlocks, their memory comes in pieces; a GPU of a few roots can then have some in each, and cancels for
 * want of memory what would find room a moment later: as the driver it is made after. */
#ifndef UVMP_EMU_H
#define UVMP_EMU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define UVMP_EMU_DEVICE	     "uvmp_emu" /* under /dev */
#define UVMP_EMU_GPUS_MAX    4u
#define UVMP_EMU_PAGE_BYTES  4096u
#define UVMP_EMU_WARPS_MAX   4096u	/* of one submission */
#define UVMP_EMU_ACCESS_MAX  (1u << 20) /* of all its warps together */
#define UVMP_EMU_RANGE_BYTES (1ull << 34) /* the largest range */

/* Processors: 0 is the CPU, 1..gpus are GPUs. */
#define UVMP_EMU_CPU  0u
#define UVMP_EMU_NONE 255u

struct uvmp_emu_info {
	__u32 version; /* 1 */
	__u32 gpus;
	__u64 memory_bytes;	  /* of each GPU */
	__u32 fault_entries;	  /* of each GPU's fault ring */
	__u32 counter_entries;	  /* of each GPU's ring of access-counter notifications */
	__u64 space;		  /* number of this address space, as in the decision log */
};

/* What one lane of a warp does. All but PREFETCH are of 8 bytes, at a multiple of 8. */
enum uvmp_emu_kind {
	UVMP_EMU_READ = 0,     /* value <- memory */
	UVMP_EMU_WRITE = 1,    /* memory <- value */
	UVMP_EMU_ADD = 2,      /* atomic: memory += value, value <- what was there before */
	UVMP_EMU_PREFETCH = 3, /* asks for the page and never waits */
};

struct uvmp_emu_access {
	__u64 address;
	__u64 value;
	__u32 kind; /* enum uvmp_emu_kind */
	__u32 zero;
};

/* Its accesses are done one after the other; one that faults waits for a replay. Warps run in any order among each
 * other, each a few accesses at a time. */
struct uvmp_emu_warp {
	__u64 access; /* struct uvmp_emu_access[accesses]; values that were read are written back */
	__u32 accesses;
	__u32 sm;     /* 0..1023: chooses the uTLB that faults */
	__u32 done;   /* out: accesses that were done */
	__s32 status; /* out: 0, or -EFAULT: the access behind those done was cancelled (no range, no right, no memory),
		       * -EINTR: the process was killed or the submission given up */
};

struct uvmp_emu_submit {
	__u64 warp; /* struct uvmp_emu_warp[warps]; `done` and `status` are written back */
	__u32 warps; /* 1 and more */
	__u32 gpu;  /* 1..gpus */
	__u32 failed; /* out: warps whose status is not 0 */
	__u32 zero;
};

enum uvmp_emu_advice { /* enum uvmp_advice of service.h */
	UVMP_EMU_PREFERRED = 0,
	UVMP_EMU_ACCESSED_BY = 1,
	UVMP_EMU_NOT_ACCESSED_BY = 2,
	UVMP_EMU_READ_DUPLICATE = 3,
	UVMP_EMU_NO_DUPLICATE = 4,
	UVMP_EMU_UNSET_DUPLICATE = 5,
	UVMP_EMU_DISCARD = 6, /* the contents are not needed any more; they read as anything from then on */
};

/* Whole pages, else EINVAL; wholly inside managed ranges, else ENOENT. */
struct uvmp_emu_call {
	__u64 address;
	__u64 bytes;
	__u32 processor; /* of PREFETCH: where to; of ADVISE: for whom, UVMP_EMU_NONE unsets PREFERRED; where nobody is meant that, too, or any */
	__u32 advice;	 /* enum uvmp_emu_advice; PREFETCH: 0 */
};

/* Looks at pages where they lie, without moving them. */
struct uvmp_emu_look {
	__u64 address; /* whole pages, else EINVAL; in managed ranges, else ENOENT */
	__u64 bytes;   /* up to 1 GiB */
	__u64 where;   /* __u8[bytes / 4096], or 0: sets of processors that hold each page, bit 0 the CPU, written back */
	__u32 crc;     /* out: CRC-32 (IEEE 802.3, as zlib's) of the contents; pages that nobody holds count as zeros */
	__u32 zero;
};

struct uvmp_emu_stats { /* of the whole module since it was loaded, or of one GPU */
	__u32 gpu;  /* in: 1..gpus, or 0: the sum over all */
	__u32 zero;
	__u64 faults_written;	/* entries that reached the ring */
	__u64 faults_lost;	/* entries that did not, the ring being full; they fault again after a replay */
	__u64 interrupts;
	__u64 bottom_halves;
	__u64 batches;
	__u64 duplicates;
	__u64 replays;
	__u64 flushed;		/* entries dropped by flushes */
	__u64 cancelled;	/* warps */
	__u64 accesses;		/* done by GPUs */
	__u64 remote_accesses;	/* of those, to memory that is not the GPU's own */
	__u64 notifications;	/* of access counters */
	__u64 pages_in;		/* copied to GPUs */
	__u64 pages_out;	/* copied from GPUs to the CPU */
	__u64 pages_peer;	/* copied between GPUs */
	__u64 pages_populated;
	__u64 evictions;	/* VABlocks that had to leave */
	__u64 cpu_faults;	/* that asked the policy (sum only) */
	__u64 cpu_fills;	/* CPU faults that only filled in page-table entries that the policy had allowed (sum only) */
	__u64 throttled;	/* faults. Whoever rests goes on early when a request comes in (CPU fault, call, munmap) */
	__u64 policy_changes;	/* (sum only) */
	__u64 frames_gpu;	/* pages of GPU memory in use now: with evict=lru those of all chunks that are given out */
	__u64 frames_cpu;	/* pages of system memory that hold managed data now (sum only) */
	__u64 frames_cached;	/* pages that the module owns and that hold nothing; the shrinker gives them back (sum only) */
	__u64 frames_shrunk;	/* pages that the shrinker has given back (sum only) */
	__u64 broken;		/* of the module's own checks that failed; anything but 0 is a bug (sum only) */
};

#define UVMP_EMU_INFO	  _IOR('U', 0xe0, struct uvmp_emu_info)
#define UVMP_EMU_SUBMIT	  _IOWR('U', 0xe1, struct uvmp_emu_submit)
#define UVMP_EMU_PREFETCH_RANGE _IOW('U', 0xe2, struct uvmp_emu_call)
#define UVMP_EMU_ADVISE	  _IOW('U', 0xe3, struct uvmp_emu_call)
#define UVMP_EMU_LOOK	  _IOWR('U', 0xe4, struct uvmp_emu_look)
#define UVMP_EMU_STATS	  _IOWR('U', 0xe5, struct uvmp_emu_stats)

/* Module parameters: gpus= (1..4, default 1), memory_mib= (of each GPU, 2..65536, default 64), fault_entries=
 * (2..65536, default 256), counter_entries= (0..65536, default 64), utlbs= (1..64, default 8), blocks= (VABlocks of managed
 * memory that can be in use at a time, default 4096), policy= (a policy string; empty: uvmpolicy's parameter), log_kib= (the
 * newest so many KiB of decision log and of trace are kept, default 1024), seed=, mode= (of the device file, octal,
 * default 0600: who may open it may use all of it, no capability is asked for).
 *
 * debugfs, uvmp_emu/: `stats` and `gpuN` (text, one NAME VALUE a line), `policy` (read: canonical form; write: a policy
 * string, or preset=...; changes it while everything runs: data comes home to the CPU, the engine is built anew; EINVAL
 * with the reason in the kernel log; ENOMEM, EBUSY: no room on the CPU, or a page that does not come home, and the old one
 * stays in force), `log` (the decision log, format of service.h), `trace` (accesses that faulted, batches, ranges and calls
 * as `uvmp-trace 1` rows of the first address space, faults of GPU 1 and of the CPU, but not those of UVMP_EMU_PREFETCH,
 * whose agents would wait in the simulator: what `uvmsim run --trace` reads), `clear` (write anything: empties log and
 * trace). For tests, `fail_cpu_frame` and `fail_gpu_frame` (write N: of the pages of system memory, or of GPU memory, that
 * the module asks for from then on the Nth is refused, as if there were none; it counts down, 0: none is).
 *
 * A change of policy empties log and trace too, and with the new engine the times in both and the ids of actions begin
 * anew; the statistics go on. Positions in log and trace count all that was ever written. A reader who asks for 4096 bytes
 * or more at a time gets whole lines; where his next one is not kept any more he goes on with the oldest that is, and at the
 * end he finds, later, what is new. Position 0 is always the oldest. */
#endif
