/* emu_mapping.c: managed ranges as the CPU sees them.
 *
 * The CPU's page-table entries follow right[0] and on[0] of the pages. If the right allows the access,
 * a fault fills the entry, and entries of neighbouring pages, with cpu_lock shared. The worker changes
 * the right with cpu_lock exclusive, and removes the entries afterwards (emu_page.c). So an entry that
 * allows more than the policy exists at most until the worker's zap ends. If the right does not allow
 * the access, the fault asks the policy.
 *
 * Entries are raw page numbers (VM_PFNMAP): get_user_pages takes no references to frames, and the
 * kernel's reclaim and migration leave them alone. Code that walks page tables for a page number and
 * keeps it (VFIO does, for device memory mapped by a program) is neither refused nor told when the
 * frame moves.
 *
 * There are no entries of 2 MiB. Up to Linux 6.11 such an entry cannot be marked as a raw page number,
 * so get_user_pages_fast would take references to frames that move. Ranges are aligned so that a block
 * has a page table of its own, which one fault fills. */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "emu.h"

#define BLOCK_BYTES (2ull << 20)

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define zap_special_vma_range zap_vma_ptes
#endif

static const struct vm_operations_struct range_operations, foreign_operations;

/* -- beginning and end ---------------------------------------------------------------------------- */

/* The program chooses the size: the memory is charged to it, and it gets ENOMEM before a process is
 * killed. */
static struct emu_range *make_range(struct emu_space *space, u64 base, u64 bytes)
{
	unsigned long pages = bytes >> PAGE_SHIFT;
	struct emu_range *range = kvzalloc(struct_size(range, page, pages),
					   GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	if (!range)
		return NULL;
	range->space = space;
	range->base = base;
	range->bytes = bytes;
	for (unsigned long i = 0; i < pages; i++) {
		memset(range->page[i].on, EMU_UNMAPPED, sizeof(range->page[i].on));
		if (i % (BLOCK_BYTES >> PAGE_SHIFT) == 0)
			cond_resched();
	}
	return range;
}

static void set_flags(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* The range is in the tree before the policy has it: then GPUs may fault on it at once. */
static int manage(struct emu_range *range, enum uvmp_right right)
{
	struct emu_space *space = range->space;
	unsigned long first = range->base >> PAGE_SHIFT,
		      last = (range->base + range->bytes - 1) >> PAGE_SHIFT;
	struct emu_request request = {
		.ask = EMU_ASK_ADD,
		.space = space,
		.range = range,
		.address = range->base,
		.bytes = range->bytes,
		.right = right,
	};
	int result = mtree_insert_range(&space->ranges, first, last, range, GFP_KERNEL);

	if (result != 0) {
		kvfree(range);
		return -ENOMEM; /* or pages that were unmapped and could not be freed yet lie there */
	}
	result = emu_ask(space->driver, &request);
	if (result == 0)
		return 0;
	/* a GPU's fault may have led the worker to the range */
	mutex_lock(&space->driver->engine_lock);
	emu_range_remove(space, range->base, range->bytes);
	emu_range_drop(range);
	mutex_unlock(&space->driver->engine_lock);
	return result;
}

/* Access that mmap does not allow cannot be added later: the policy gets the right once. */
int emu_mapping_mmap(struct emu_space *space, struct vm_area_struct *vma)
{
	u64 bytes = vma->vm_end - vma->vm_start;
	bool is_written = vma->vm_flags & VM_WRITE;
	struct emu_range *range;
	int result;

	if (vma->vm_mm != space->mm)
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED) || !(vma->vm_flags & VM_READ) || vma->vm_flags & VM_EXEC ||
	    vma->vm_pgoff != 0 || bytes > UVMP_EMU_RANGE_BYTES)
		return -EINVAL;
	range = make_range(space, vma->vm_start, bytes);
	if (!range)
		return -ENOMEM;
	result = manage(range, is_written ? UVMP_RIGHT_READ_WRITE_ATOMIC : UVMP_RIGHT_READ);
	if (result != 0)
		return result;
	set_flags(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC | (is_written ? 0 : VM_MAYWRITE));
	vma->vm_pgoff = vma->vm_start >> PAGE_SHIFT;
	vma->vm_private_data = range;
	vma->vm_ops = &range_operations;
	return 0;
}

/* -- what becomes of a mapping -------------------------------------------------------------------- */

/* A new piece: of a split; of a fork, with the parent's entries; or of mremap, which moves entries to
 * it and, if it is refused, back. The last two are not pieces of the range: touching them raises
 * SIGBUS, and their end is ignored. Depending on the kernel, a fork has copied the entries already or
 * copies them afterwards: entries are removed here, and WIPEONFORK prevents the copy. */
static void range_open(struct vm_area_struct *vma)
{
	struct emu_range *range = vma->vm_private_data;
	bool is_fork = vma->vm_mm != range->space->mm;

	if (!is_fork && vma->vm_pgoff == vma->vm_start >> PAGE_SHIFT)
		return;
	vma->vm_ops = &foreign_operations;
	vma->vm_private_data = NULL;
	if (!is_fork)
		return;
	set_flags(vma, VM_WIPEONFORK, 0);
	zap_special_vma_range(vma, vma->vm_start, vma->vm_end - vma->vm_start);
}

/* A piece was unmapped. It has no bytes if it comes from a failed split. */
static void range_close(struct vm_area_struct *vma)
{
	struct emu_range *range = vma->vm_private_data;
	struct emu_driver *driver = range->space->driver;
	struct emu_request request = {
		.ask = EMU_ASK_FREE,
		.space = range->space,
		.range = range,
		.address = vma->vm_start,
		.bytes = vma->vm_end - vma->vm_start,
	};

	if (request.bytes > 0 && emu_ask(driver, &request) != 0)
		emu_broken(driver, "the policy does not release a range");
}

static int range_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

/* -- filling in ----------------------------------------------------------------------------------- */

static bool allows(const struct emu_page *page, enum uvmp_right least)
{
	return page->right[UVMP_CPU] >= least;
}

static vm_fault_t fill_page(struct vm_area_struct *vma, struct emu_range *range, u64 address)
{
	struct emu_page *page = emu_range_page(range, address);
	unsigned long flags = allows(page, UVMP_RIGHT_READ_WRITE) ? vma->vm_flags : vma->vm_flags & ~VM_WRITE;
	struct page *frame = page->on[UVMP_CPU] < EMU_PROCS ? page->data[page->on[UVMP_CPU]] : NULL;

	if (!frame) {
		emu_broken(range->space->driver, "a page may be used by the CPU and has no frame");
		return VM_FAULT_SIGBUS;
	}
	WRITE_ONCE(page->is_filled, true);
	return vmf_insert_pfn_prot(vma, address, page_to_pfn(frame), vm_get_page_prot(flags));
}

static bool wants_filling(struct emu_range *range, u64 address)
{
	const struct emu_page *page = emu_range_page(range, address);

	return allows(page, UVMP_RIGHT_READ) && !READ_ONCE(page->is_filled);
}

/* Fills neighbouring pages of the block that may be mapped and are not. */
static void fill_around(struct vm_area_struct *vma, struct emu_range *range, u64 address)
{
	u64 first = max_t(u64, vma->vm_start, round_down(address, BLOCK_BYTES));
	u64 end = min_t(u64, vma->vm_end, round_down(address, BLOCK_BYTES) + BLOCK_BYTES);
	u64 at;

	for (at = address + PAGE_SIZE; at < end && wants_filling(range, at); at += PAGE_SIZE)
		if (fill_page(vma, range, at) != VM_FAULT_NOPAGE)
			return;
	for (at = address; at > first && wants_filling(range, at - PAGE_SIZE); at -= PAGE_SIZE)
		if (fill_page(vma, range, at - PAGE_SIZE) != VM_FAULT_NOPAGE)
			return;
}

/* 0: the right does not allow the access. */
static vm_fault_t fill(struct vm_fault *vmf, struct emu_range *range, u64 address)
{
	enum uvmp_right least = vmf->flags & FAULT_FLAG_WRITE ? UVMP_RIGHT_READ_WRITE : UVMP_RIGHT_READ;
	vm_fault_t result = 0;

	down_read(&range->space->cpu_lock);
	if (allows(emu_range_page(range, address), least)) {
		result = fill_page(vmf->vma, range, address);
		if (result == VM_FAULT_NOPAGE)
			fill_around(vmf->vma, range, address);
	}
	up_read(&range->space->cpu_lock);
	return result;
}

/* -- faults --------------------------------------------------------------------------------------- */

static void let_go(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

static void sleep_until(u64 until_ns)
{
	ktime_t until = ns_to_ktime(until_ns);

	set_current_state(TASK_KILLABLE);
	schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
}

/* Throttled: other processors use the page for a while. If the fault may be retried, the lock is
 * released meanwhile; the reference keeps the file, and with it this code. */
static vm_fault_t wait_until(struct vm_fault *vmf, u64 until_ns, bool may_retry)
{
	struct file *file;

	if (!may_retry || !(vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		sleep_until(until_ns);
		return VM_FAULT_NOPAGE;
	}
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	file = get_file(vmf->vma->vm_file);
	let_go(vmf);
	sleep_until(until_ns);
	fput(file);
	return VM_FAULT_RETRY;
}

/* If the page moved again after the policy's answer, another processor was quicker: the access faults again,
 * after signals. Without memory the access raises SIGBUS: with VM_FAULT_OOM it would fault without end, since
 * no process is killed for frames. */
static vm_fault_t serve(struct vm_fault *vmf, bool may_retry)
{
	struct emu_range *range = vmf->vma->vm_private_data;
	struct emu_driver *driver = range->space->driver;
	u64 address = vmf->address & PAGE_MASK;
	struct emu_request request = {
		.ask = EMU_ASK_CPU_FAULT,
		.space = range->space,
		.range = range,
		.address = address,
		.bytes = PAGE_SIZE,
		.thread = (u64)task_pid_nr(current),
		.access = vmf->flags & FAULT_FLAG_WRITE ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ,
	};
	vm_fault_t result = fill(vmf, range, address);
	int status;

	if (result != 0) {
		atomic64_inc(&driver->cpu_fills);
		return result;
	}
	status = emu_ask(driver, &request);
	if (status == -EAGAIN)
		return wait_until(vmf, request.until_ns, may_retry);
	if (status != 0)
		return VM_FAULT_SIGBUS;
	result = fill(vmf, range, address);
	return result != 0 ? result : VM_FAULT_NOPAGE;
}

static vm_fault_t range_fault(struct vm_fault *vmf)
{
	return serve(vmf, true);
}

/* A write that the entry forbids: the right is to read, or mprotect or dirty tracking has write-
 * protected the entry. Filling does not change a present entry, so it is removed first. The policy is
 * asked at once: an instruction that reads and then writes would otherwise fill the old entry again.
 * The callers of this function take VM_FAULT_RETRY as permission to write. */
static vm_fault_t range_mkwrite(struct vm_fault *vmf)
{
	zap_special_vma_range(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	return serve(vmf, false);
}

static vm_fault_t foreign_fault(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

/* -- what the kernel calls ------------------------------------------------------------------------ */

static const struct vm_operations_struct range_operations = {
	.open = range_open,
	.close = range_close,
	.mremap = range_mremap,
	.fault = range_fault,
	.pfn_mkwrite = range_mkwrite,
};

static const struct vm_operations_struct foreign_operations = {
	.mremap = range_mremap,
	.fault = foreign_fault,
};
