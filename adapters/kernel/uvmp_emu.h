/* uvmp_emu.h: the emulated UVM driver, as a program sees it.
 *
 * The module uvmpolicy_emu makes one device, /dev/uvmp_emu, with a few emulated GPUs. Opening it
 * makes an address space, which belongs to the opening process only: children that inherit the
 * descriptor get EACCES from every call but INFO and STATS, and SIGBUS where they touch managed
 * memory. Then
 *
 *   mmap(NULL, bytes, PROT_..., MAP_SHARED, fd, 0)   makes a managed range, which CPU and GPUs use at the same addresses;
 *                                                    pages move as the policy decides. With PROT_WRITE, or read-only
 *                                                    for good, for all processors; never PROT_EXEC. Ranges of 2 MiB
 *                                                    and more begin at a multiple of 2 MiB if the kernel chooses the
 *                                                    address. SIGBUS: no memory for an access
 *   mprotect                                         applies to the CPU only
 *   munmap, of the whole or of any part              frees it, also while it is serviced. mremap: only to shrink
 *   UVMP_EMU_SUBMIT                                  is a kernel launch: warps that access memory
 *
 * Every call returns 0, or -1 with errno. EFAULT: a pointer. EINVAL: a field out of range, not
 * whole pages, or `zero` is not 0. ENOENT: pages that are not managed, or no longer managed when
 * the request is performed. EACCES: called by another process. ENOTTY: no such call. EINTR (SUBMIT,
 * PREFETCH_RANGE, LOOK): the process is being killed. ENOMEM. A call with a refused field changes
 * nothing; a call that fails later keeps its effects up to then. A descriptor opened O_RDONLY can
 * query, but cannot map (EACCES, EINVAL).
 *
 * Access to the device is access to memory: frames, on GPUs and on the CPU, are charged to no
 * process, so restrict the device accordingly. What the driver keeps of a range or a submission is
 * charged to the process. Limits, beyond which calls return ENOMEM: 1024 open files; 65536 ranges
 * in all, with splits of ranges by advice or by munmap of a part; 1024 pieces of advice in force in
 * an address space. A piece of advice is in force until all its pages are unmapped, or later advice
 * replaces all of it. A part that cannot be split off is unmapped nevertheless; until the rest of
 * its range is unmapped too, nothing can be mapped there (ENOMEM), and GPUs still reach it.
 *
 * With evict=lru a GPU evicts root chunks of 2 MiB, never one that holds parts of the arriving
 * block. Where advice or addresses split VABlocks, their memory is allocated in parts. A GPU of a
 * few roots may then have such parts in each of them, and cancel faults because of memory that
 * would succeed a moment later, like the driver it models. */
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

/* An access of one lane of a warp. All but PREFETCH access 8 bytes, at a multiple of 8. */
enum uvmp_emu_kind {
	UVMP_EMU_READ = 0,     /* value <- memory */
	UVMP_EMU_WRITE = 1,    /* memory <- value */
	UVMP_EMU_ADD = 2,      /* atomic: memory += value, value <- the old memory */
	UVMP_EMU_PREFETCH = 3, /* requests the page and never waits */
};

struct uvmp_emu_access {
	__u64 address;
	__u64 value;
	__u32 kind; /* enum uvmp_emu_kind */
	__u32 zero;
};

/* Accesses are performed in order; one that faults waits for a replay. Warps run interleaved in any
 * order, a few accesses at a time. */
struct uvmp_emu_warp {
	__u64 access; /* struct uvmp_emu_access[accesses]; values that were read are written back */
	__u32 accesses;
	__u32 sm;     /* 0..1023: chooses the uTLB that faults */
	__u32 done;   /* out: accesses performed */
	__s32 status; /* out: 0; -EFAULT: the next access was cancelled (no range, no right, no
		       * memory); -EINTR: the process was killed or the submission cancelled */
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
	UVMP_EMU_DISCARD = 6, /* the contents are not needed, and are undefined afterwards */
};

/* Whole pages, else EINVAL; wholly inside managed ranges, else ENOENT. */
struct uvmp_emu_call {
	__u64 address;
	__u64 bytes;
	__u32 processor; /* PREFETCH: destination. ADVISE: the processor; UVMP_EMU_NONE unsets
			  * PREFERRED. Any value where the advice has no processor */
	__u32 advice;	 /* enum uvmp_emu_advice; PREFETCH: 0 */
};

/* Queries pages without moving them. */
struct uvmp_emu_look {
	__u64 address; /* whole pages, else EINVAL; in managed ranges, else ENOENT */
	__u64 bytes;   /* up to 1 GiB */
	__u64 where;   /* __u8[bytes / 4096], or 0: sets of processors that hold each page, bit 0 the CPU, written back */
	__u32 crc;     /* out: CRC-32 (IEEE 802.3, as in zlib) of the contents; pages that no
		        * processor holds count as zeros */
	__u32 zero;
};

struct uvmp_emu_stats { /* of the whole module since it was loaded, or of one GPU */
	__u32 gpu;  /* in: 1..gpus, or 0: the sum over all */
	__u32 zero;
	__u64 faults_written;	/* entries written to the ring */
	__u64 faults_lost;	/* entries lost because the ring was full; these accesses fault
				 * again after a replay */
	__u64 interrupts;
	__u64 bottom_halves;
	__u64 batches;
	__u64 duplicates;
	__u64 replays;
	__u64 flushed;		/* entries dropped by flushes */
	__u64 cancelled;	/* warps */
	__u64 accesses;		/* done by GPUs */
	__u64 remote_accesses;	/* of those, to memory of other processors */
	__u64 notifications;	/* of access counters */
	__u64 pages_in;		/* copied to GPUs */
	__u64 pages_out;	/* copied from GPUs to the CPU */
	__u64 pages_peer;	/* copied between GPUs */
	__u64 pages_populated;
	__u64 evictions;	/* VABlocks evicted */
	__u64 cpu_faults;	/* CPU faults that asked the policy (sum only) */
	__u64 cpu_fills;	/* CPU faults that only filled page-table entries the policy had
				 * allowed (sum only) */
	__u64 throttled;	/* faults. A request (CPU fault, call, munmap) ends the pause early */
	__u64 policy_changes;	/* (sum only) */
	__u64 frames_gpu;	/* pages of GPU memory in use: with evict=lru those of all allocated
				 * chunks */
	__u64 frames_cpu;	/* pages of system memory with managed data (sum only) */
	__u64 frames_cached;	/* free pages that the module owns; the shrinker frees them (sum only) */
	__u64 frames_shrunk;	/* pages that the shrinker has freed (sum only) */
	__u64 work_ns;		/* of the bottom half (sum only) */
	__u64 decide_ns;	/* of that, inside the engine: faults, actions, completions (sum only) */
	__u64 broken;		/* failed checks of the module; anything but 0 is a bug (sum only) */
};

#define UVMP_EMU_INFO	  _IOR('U', 0xe0, struct uvmp_emu_info)
#define UVMP_EMU_SUBMIT	  _IOWR('U', 0xe1, struct uvmp_emu_submit)
#define UVMP_EMU_PREFETCH_RANGE _IOW('U', 0xe2, struct uvmp_emu_call)
#define UVMP_EMU_ADVISE	  _IOW('U', 0xe3, struct uvmp_emu_call)
#define UVMP_EMU_LOOK	  _IOWR('U', 0xe4, struct uvmp_emu_look)
#define UVMP_EMU_STATS	  _IOWR('U', 0xe5, struct uvmp_emu_stats)

/* Module parameters: gpus= (1..4, default 1), memory_mib= (of each GPU, 2..65536, default 64),
 * fault_entries= (2..65536, default 256), counter_entries= (0..65536, default 64), utlbs= (1..64,
 * default 8), blocks= (VABlocks of managed memory that can be in use at a time, default 4096),
 * policy= (a policy string; empty: the parameter of uvmpolicy), log_kib= (the newest KiB of
 * decision log and of trace that are kept, default 1024), seed=, mode= (of the device file, octal,
 * default 0600: a process that can open it can use all of it, without a capability).
 *
 * debugfs, uvmp_emu/:
 *   stats, gpuN  text, one NAME VALUE a line
 *   policy       read: canonical form. Write: a policy string, or preset=..., which is put in force while everything runs: all data
 *                moves to the CPU, and a new engine is built. EINVAL: the kernel log has the reason. ENOMEM, EBUSY: no memory on
 *                the CPU, or a page that cannot be moved there; the old policy stays in force
 *   log          the decision log, in the format of service.h
 *   trace        accesses that faulted, batches, ranges and calls of the first address space as `uvmp-trace 2` rows, for `uvmsim
 *                run --trace`: faults of GPU 1 and of the CPU, without those of UVMP_EMU_PREFETCH, which no agent waits for
 *   clear        write anything: empties log and trace
 *   fail_cpu_frame, fail_gpu_frame  for tests. Write N: the Nth allocation from now on, of a page of system memory or of GPU
 *                memory, is refused; counts down; 0: none
 *
 * A change of policy also empties log and trace. The new engine restarts times and ids of actions;
 * the statistics continue. Positions in log and trace count all bytes that were ever
 * written. Reads of 4096 bytes or more return whole lines. A reader whose next line was dropped
 * continues with the oldest one; at the end, later reads return new lines. Position 0 is always the
 * oldest line. */
#endif
