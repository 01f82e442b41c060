/* emu_file.c: the calls of programs. Every argument is checked here. */
#include <linux/compat.h>
#include <linux/crc32.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/huge_mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "emu.h"

#define LOOK_BYTES_MAX (1ull << 30)
#define PREFETCH_BYTES (64ull << 20) /* at a time */
#define QUERY_PAGES    512u	     /* at a time */
#define SMS	       1024u

/* -- an address space ----------------------------------------------------------------------------- */

static struct emu_space *new_space(struct emu_driver *driver)
{
	struct emu_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	struct inode *inode;

	if (!space)
		return ERR_PTR(-ENOMEM);
	inode = alloc_anon_inode(driver->mount->mnt_sb);
	if (IS_ERR(inode)) {
		kfree(space);
		return ERR_CAST(inode);
	}
	space->driver = driver;
	space->id = (u64)atomic64_inc_return(&driver->next_space);
	space->mm = current->mm;
	mmgrab(space->mm);
	space->inode = inode;
	init_rwsem(&space->cpu_lock);
	mt_init_flags(&space->ranges, MT_FLAGS_USE_RCU); /* GPUs read while other threads change it */
	return space;
}

static void free_space(struct emu_space *space)
{
	if (!mtree_empty(&space->ranges))
		emu_broken(space->driver, "a closed space still has a range");
	mtree_destroy(&space->ranges);
	iput(space->inode);
	mmdrop(space->mm);
	kfree(space);
}

static int file_open(struct inode *inode, struct file *file)
{
	struct emu_driver *driver = container_of(file->private_data, struct emu_driver, misc);
	struct emu_request request = {.ask = EMU_ASK_OPEN};
	struct emu_space *space;
	int result;

	if (!current->mm)
		return -EINVAL;
	space = new_space(driver);
	if (IS_ERR(space))
		return PTR_ERR(space);
	request.space = space;
	result = emu_ask(driver, &request);
	if (result != 0) {
		free_space(space);
		return result;
	}
	file->private_data = space;
	file->f_mapping = space->inode->i_mapping;
	return nonseekable_open(inode, file);
}

/* The last mapping is removed too: each holds a reference to the file. */
static int file_release(struct inode *inode, struct file *file)
{
	struct emu_space *space = file->private_data;
	struct emu_request request = {.ask = EMU_ASK_CLOSE, .space = space};

	if (emu_ask(space->driver, &request) != 0)
		emu_broken(space->driver, "the policy does not release a space");
	free_space(space);
	return 0;
}

static int file_mmap(struct file *file, struct vm_area_struct *vma)
{
	return emu_mapping_mmap(file->private_data, vma);
}

/* -- information ---------------------------------------------------------------------------------- */

static int do_info(struct emu_space *space, void __user *user)
{
	const struct emu_params *params = &space->driver->params;
	struct uvmp_emu_info info = {
		.version = 1,
		.gpus = params->gpus,
		.memory_bytes = (u64)params->memory_mib << 20,
		.fault_entries = params->fault_entries,
		.counter_entries = params->counter_entries,
		.space = space->id,
	};

	return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

/* All members after `zero` are counts. */
static void add_stats(struct uvmp_emu_stats *to, const struct uvmp_emu_stats *from)
{
	const size_t first = offsetof(struct uvmp_emu_stats, faults_written) / sizeof(u64);
	const u64 *counted = (const u64 *)from;
	u64 *sum = (u64 *)to;

	BUILD_BUG_ON(sizeof(*to) % sizeof(u64) != 0);
	for (size_t i = first; i < sizeof(*to) / sizeof(u64); i++)
		sum[i] += READ_ONCE(counted[i]);
}

static void add_gpu_stats(struct uvmp_emu_stats *to, struct emu_gpu *gpu)
{
	spin_lock_irq(&gpu->lock);
	add_stats(to, &gpu->stats);
	spin_unlock_irq(&gpu->lock);
}

/* The worker holds engine_lock as long as there is work, so its counts are read without a lock. Counts
 * of work before the end of a call are included. */
void emu_stats(struct emu_driver *driver, u32 gpu, struct uvmp_emu_stats *stats)
{
	*stats = (struct uvmp_emu_stats){.gpu = gpu};
	if (gpu > 0)
		add_gpu_stats(stats, &driver->gpu[gpu - 1]);
	for (u32 i = 0; gpu == 0 && i < driver->params.gpus; i++)
		add_gpu_stats(stats, &driver->gpu[i]);
	if (gpu == 0)
		add_stats(stats, &driver->stats);
	emu_frame_stats(driver, gpu > 0 ? &driver->gpu[gpu - 1] : NULL, stats);
	if (gpu > 0)
		return;
	stats->cpu_fills += (u64)atomic64_read(&driver->cpu_fills);
	stats->broken += (u64)atomic64_read(&driver->broken);
}

static int do_stats(struct emu_space *space, void __user *user)
{
	struct uvmp_emu_stats stats;

	if (copy_from_user(&stats, user, offsetof(struct uvmp_emu_stats, faults_written)))
		return -EFAULT;
	if (stats.gpu > space->driver->params.gpus || stats.zero != 0)
		return -EINVAL;
	emu_stats(space->driver, stats.gpu, &stats);
	return copy_to_user(user, &stats, sizeof(stats)) ? -EFAULT : 0;
}

/* -- requests ------------------------------------------------------------------------------------- */

static int check_pages(struct emu_space *space, u64 address, u64 bytes)
{
	u64 end;

	if (bytes == 0 || !PAGE_ALIGNED(address) || !PAGE_ALIGNED(bytes) ||
	    check_add_overflow(address, bytes, &end))
		return -EINVAL;
	return emu_range_covers(space, address, bytes) ? 0 : -ENOENT;
}

/* Advice without a processor accepts any. */
static bool is_advice_good(const struct uvmp_emu_call *call, u32 gpus)
{
	bool needs_processor =
		call->advice == UVMP_EMU_ACCESSED_BY || call->advice == UVMP_EMU_NOT_ACCESSED_BY;

	return call->advice <= UVMP_EMU_DISCARD &&
	       (call->processor <= gpus || (call->processor == UVMP_EMU_NONE && !needs_processor));
}

static bool is_prefetch_good(const struct uvmp_emu_call *call, u32 gpus)
{
	return call->advice == 0 && call->processor <= gpus;
}

/* The worker's part of a call is bounded, so that a killed thread ends soon. */
static int ask_pieces(struct emu_space *space, const struct uvmp_emu_call *call, enum emu_ask ask)
{
	u64 end = call->address + call->bytes, most = ask == EMU_ASK_PREFETCH ? PREFETCH_BYTES : U64_MAX;
	int result = 0;

	for (u64 at = call->address, bytes; at < end && result == 0; at += bytes) {
		bytes = min(end - at, most - at % most);
		if (at != call->address && fatal_signal_pending(current))
			return -EINTR;
		result = emu_ask(space->driver,
				 &(struct emu_request){
					 .ask = ask,
					 .space = space,
					 .address = at,
					 .bytes = bytes,
					 .processor = call->processor == UVMP_EMU_NONE ? UVMP_PROC_NONE
										       : call->processor,
					 .advice = call->advice,
				 });
	}
	return result;
}

static int do_call(struct emu_space *space, void __user *user, enum emu_ask ask)
{
	u32 gpus = space->driver->params.gpus;
	struct uvmp_emu_call call;
	int result;

	if (copy_from_user(&call, user, sizeof(call)))
		return -EFAULT;
	if (!(ask == EMU_ASK_PREFETCH ? is_prefetch_good(&call, gpus) : is_advice_good(&call, gpus)))
		return -EINVAL;
	result = check_pages(space, call.address, call.bytes);
	return result == 0 ? ask_pieces(space, &call, ask) : result;
}

/* -- submissions ---------------------------------------------------------------------------------- */

/* A copy of an array of the program, charged to it. */
static void *read_array(u64 from, size_t bytes)
{
	void *array = kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);

	if (!array)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(array, u64_to_user_ptr(from), bytes) == 0)
		return array;
	kvfree(array);
	return ERR_PTR(-EFAULT);
}

static bool is_access_good(const struct uvmp_emu_access *access)
{
	if (access->zero != 0 || access->kind > UVMP_EMU_PREFETCH)
		return false;
	return access->kind == UVMP_EMU_PREFETCH || IS_ALIGNED(access->address, sizeof(u64));
}

static int read_warp(struct emu_warp *warp, const struct uvmp_emu_warp *from)
{
	struct uvmp_emu_access *access;

	access = read_array(from->access, array_size(from->accesses, sizeof(*access)));
	if (IS_ERR(access))
		return PTR_ERR(access);
	warp->access = access;
	warp->accesses = from->accesses;
	warp->sm = from->sm;
	for (u32 i = 0; i < warp->accesses; i++)
		if (!is_access_good(&access[i]))
			return -EINVAL;
	return 0;
}

static void free_job(struct emu_job *job)
{
	for (u32 i = 0; i < job->warps; i++)
		kvfree(job->warp[i].access);
	kvfree(job);
}

static int check_warps(const struct uvmp_emu_warp *warp, u32 warps)
{
	u32 left = UVMP_EMU_ACCESS_MAX;

	for (u32 i = 0; i < warps; i++) {
		if (warp[i].accesses > left || warp[i].sm >= SMS)
			return -EINVAL;
		left -= warp[i].accesses;
	}
	return 0;
}

static struct emu_job *read_job(struct emu_space *space, const struct uvmp_emu_warp *from, u32 warps)
{
	int result = check_warps(from, warps);
	struct emu_job *job;

	if (result != 0)
		return ERR_PTR(result);
	job = kvzalloc(struct_size(job, warp, warps), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->space = space;
	job->warps = warps;
	for (u32 i = 0; i < warps && result == 0; i++)
		result = read_warp(&job->warp[i], &from[i]);
	if (result == 0)
		return job;
	free_job(job);
	return ERR_PTR(result);
}

/* Writes the values that were read, and how each warp ended; `from` is the program's array. */
static int write_job(const struct emu_job *job, struct uvmp_emu_warp *from, struct uvmp_emu_submit *submit)
{
	submit->failed = 0;
	for (u32 i = 0; i < job->warps; i++) {
		const struct emu_warp *warp = &job->warp[i];

		from[i].done = warp->done;
		from[i].status = warp->status;
		submit->failed += warp->status != 0;
		if (copy_to_user(u64_to_user_ptr(from[i].access), warp->access,
				 array_size(warp->done, sizeof(*warp->access))))
			return -EFAULT;
	}
	return copy_to_user(u64_to_user_ptr(submit->warp), from, array_size(job->warps, sizeof(*from)))
		       ? -EFAULT
		       : 0;
}

static int run_job(struct emu_space *space, struct uvmp_emu_submit *submit, struct uvmp_emu_warp *warp)
{
	struct emu_job *job = read_job(space, warp, submit->warps);
	int result;

	if (IS_ERR(job))
		return PTR_ERR(job);
	result = emu_submit(&space->driver->gpu[submit->gpu - 1], job);
	if (result == 0)
		result = write_job(job, warp, submit);
	free_job(job);
	return result;
}

static int do_submit(struct emu_space *space, void __user *user)
{
	struct uvmp_emu_submit submit;
	struct uvmp_emu_warp *warp;
	int result;

	if (copy_from_user(&submit, user, sizeof(submit)))
		return -EFAULT;
	if (submit.warps == 0 || submit.warps > UVMP_EMU_WARPS_MAX || submit.gpu == 0 ||
	    submit.gpu > space->driver->params.gpus || submit.zero != 0)
		return -EINVAL;
	warp = read_array(submit.warp, array_size(submit.warps, sizeof(*warp)));
	if (IS_ERR(warp))
		return PTR_ERR(warp);
	result = run_job(space, &submit, warp);
	kvfree(warp);
	if (result == 0 && copy_to_user(user, &submit, sizeof(submit)))
		result = -EFAULT;
	return result;
}

/* -- looking -------------------------------------------------------------------------------------- */

/* Under engine_lock: the processors that hold the page, and the checksum with its bytes. After a change
 * of policy the CPU may hold a page without a frame: zeros. */
static int query_page(struct emu_space *space, u64 address, u8 *where, u32 *crc)
{
	const struct emu_page *page = emu_page_find(space, address);
	struct page *frame = NULL, *zeros = ZERO_PAGE(0);
	struct uvmp_page_state state = {.size = sizeof(state)};
	char *bytes;

	if (!page || uvmp_service_page(space->driver->service, space->id, address, &state) != UVMP_OK)
		return -ENOENT;
	*where = (u8)state.resident;
	if (state.resident != 0) {
		frame = page->data[__ffs64(state.resident)];
		if (!frame && __ffs64(state.resident) != UVMP_CPU)
			emu_broken(space->driver, "a page is resident where it has no frame");
	}
	bytes = kmap_local_page(frame ? frame : zeros);
	*crc = crc32(*crc, bytes, PAGE_SIZE);
	kunmap_local(bytes);
	return 0;
}

static int query_pages(struct emu_space *space, u64 address, u32 pages, u8 *where, u32 *crc)
{
	int result = 0;

	if (mutex_lock_killable(&space->driver->engine_lock) != 0)
		return -EINTR;
	for (u32 i = 0; i < pages && result == 0; i++)
		result = query_page(space, address + (u64)i * PAGE_SIZE, &where[i], crc);
	mutex_unlock(&space->driver->engine_lock);
	return result;
}

/* In portions, so that the worker does not wait for long. A page that moves between two portions keeps
 * its contents. */
static int query_all(struct emu_space *space, struct uvmp_emu_look *look)
{
	u32 pages = (u32)(look->bytes >> PAGE_SHIFT), crc = ~0u;
	u8 __user *to = u64_to_user_ptr(look->where);
	u8 where[QUERY_PAGES];

	for (u32 at = 0; at < pages; at += QUERY_PAGES) {
		u32 count = min(QUERY_PAGES, pages - at);
		int result = query_pages(space, look->address + (u64)at * PAGE_SIZE, count, where, &crc);

		if (result != 0)
			return result;
		if (to && copy_to_user(to + at, where, count))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	look->crc = ~crc;
	return 0;
}

static int do_look(struct emu_space *space, void __user *user)
{
	struct uvmp_emu_look look;
	int result;

	if (copy_from_user(&look, user, sizeof(look)))
		return -EFAULT;
	if (look.zero != 0 || look.bytes > LOOK_BYTES_MAX)
		return -EINVAL;
	result = check_pages(space, look.address, look.bytes);
	if (result == 0)
		result = query_all(space, &look);
	if (result == 0 && copy_to_user(user, &look, sizeof(look)))
		result = -EFAULT;
	return result;
}

/* -- calls ---------------------------------------------------------------------------------------- */

static long file_ioctl(struct file *file, unsigned int call, unsigned long argument)
{
	struct emu_space *space = file->private_data;
	void __user *user = (void __user *)argument;

	switch (call) {
	case UVMP_EMU_INFO:
		return do_info(space, user);
	case UVMP_EMU_STATS:
		return do_stats(space, user);
	}
	if (current->mm != space->mm)
		return -EACCES;
	switch (call) {
	case UVMP_EMU_SUBMIT:
		return do_submit(space, user);
	case UVMP_EMU_PREFETCH_RANGE:
		return do_call(space, user, EMU_ASK_PREFETCH);
	case UVMP_EMU_ADVISE:
		return do_call(space, user, EMU_ASK_ADVISE);
	case UVMP_EMU_LOOK:
		return do_look(space, user);
	default:
		return -ENOTTY;
	}
}

const struct file_operations emu_file_operations = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_release,
	.mmap = file_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.unlocked_ioctl = file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
