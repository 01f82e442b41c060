/* emu_frame.c: frames of the CPU, frames of GPUs, and free frames of both.
 *
 * All are pages of system memory that the module owns. The memory of a GPU is a table from offsets to
 * frames. Free frames stay here, as in a driver's pool, until the kernel reclaims them (shrinker). */
#include <linux/highmem.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "emu.h"

#define FRAMES_AT_ONCE 512u /* with a reschedule in between */

struct emu_memory {
	spinlock_t lock;
	struct list_head free; /* by page->lru */
	unsigned long cached;
	u64 shrunk;
	atomic_long_t held_cpu;
	atomic_long_t owned; /* pages of the kernel: in use, free, and, after a bug of this module, leaked */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	struct shrinker *shrinker;
#else
	struct shrinker shrinker;
#endif
};

/* -- the cache ------------------------------------------------------------------------------------ */

static struct page *pop(struct emu_memory *memory)
{
	struct page *frame;

	spin_lock(&memory->lock);
	frame = list_first_entry_or_null(&memory->free, struct page, lru);
	if (frame) {
		list_del(&frame->lru);
		memory->cached--;
	}
	spin_unlock(&memory->lock);
	return frame;
}

static void push(struct emu_memory *memory, struct page *frame)
{
	set_page_private(frame, 0);
	spin_lock(&memory->lock);
	list_add(&frame->lru, &memory->free);
	memory->cached++;
	spin_unlock(&memory->lock);
}

static void give_page(struct emu_memory *memory, struct page *frame)
{
	__free_page(frame);
	atomic_long_dec(&memory->owned);
}

/* No process is charged for frames, so none is killed for them: a call or a fault fails instead.
 * `fail`: number of the allocation, from now on, that a test wants refused. */
static struct page *take(struct emu_memory *memory, atomic_t *fail)
{
	struct page *frame;

	if (atomic_dec_if_positive(fail) == 0)
		return NULL;
	frame = pop(memory);
	if (frame) {
		clear_highpage(frame);
		return frame;
	}
	frame = alloc_page(GFP_HIGHUSER | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (frame)
		atomic_long_inc(&memory->owned);
	return frame;
}

/* -- what the kernel wants back ------------------------------------------------------------------- */

static unsigned long count_free(struct emu_memory *memory)
{
	unsigned long cached = READ_ONCE(memory->cached);

	return cached > 0 ? cached : SHRINK_EMPTY;
}

static unsigned long give_back(struct emu_memory *memory, unsigned long wanted)
{
	unsigned long freed = 0;

	for (; freed < wanted; freed++) {
		struct page *frame = pop(memory);

		if (!frame)
			break;
		give_page(memory, frame);
	}
	spin_lock(&memory->lock);
	memory->shrunk += freed;
	spin_unlock(&memory->lock);
	return freed > 0 ? freed : SHRINK_STOP;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define MEMORY_OF(shrinker) ((struct emu_memory *)(shrinker)->private_data)
#else
#define MEMORY_OF(shrinker) container_of(shrinker, struct emu_memory, shrinker)
#endif

static unsigned long count_objects(struct shrinker *shrinker, struct shrink_control *control)
{
	return count_free(MEMORY_OF(shrinker));
}

static unsigned long scan_objects(struct shrinker *shrinker, struct shrink_control *control)
{
	return give_back(MEMORY_OF(shrinker), control->nr_to_scan);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
static int start_shrinker(struct emu_memory *memory)
{
	memory->shrinker = shrinker_alloc(0, UVMP_EMU_DEVICE);
	if (!memory->shrinker)
		return -ENOMEM;
	memory->shrinker->count_objects = count_objects;
	memory->shrinker->scan_objects = scan_objects;
	memory->shrinker->private_data = memory;
	shrinker_register(memory->shrinker);
	return 0;
}

static void stop_shrinker(struct emu_memory *memory)
{
	shrinker_free(memory->shrinker);
}
#else
static int start_shrinker(struct emu_memory *memory)
{
	memory->shrinker.count_objects = count_objects;
	memory->shrinker.scan_objects = scan_objects;
	memory->shrinker.seeks = DEFAULT_SEEKS;
	return register_shrinker(&memory->shrinker, UVMP_EMU_DEVICE);
}

static void stop_shrinker(struct emu_memory *memory)
{
	unregister_shrinker(&memory->shrinker);
}
#endif

/* -- the CPU's ------------------------------------------------------------------------------------ */

struct page *emu_frame_get_cpu(struct emu_driver *driver)
{
	struct page *frame = take(driver->memory, &driver->fail_cpu_frame);

	if (frame)
		atomic_long_inc(&driver->memory->held_cpu);
	return frame;
}

void emu_frame_put_cpu(struct emu_driver *driver, struct page *frame)
{
	push(driver->memory, frame);
	atomic_long_dec(&driver->memory->held_cpu);
}

/* -- a GPU's -------------------------------------------------------------------------------------- */

struct page *emu_frame_get_gpu(struct emu_gpu *gpu, u64 offset)
{
	struct emu_memory *memory = gpu->driver->memory;
	struct page *frame = xa_load(&gpu->frames, offset >> PAGE_SHIFT);

	if (frame)
		return frame;
	frame = take(memory, &gpu->driver->fail_gpu_frame);
	if (!frame)
		return NULL;
	if (xa_is_err(xa_store(&gpu->frames, offset >> PAGE_SHIFT, frame, GFP_KERNEL))) {
		push(memory, frame);
		return NULL;
	}
	atomic_long_inc(&gpu->frames_held);
	return frame;
}

void emu_frame_put_gpu(struct emu_gpu *gpu, u64 offset, u64 bytes)
{
	unsigned long first = offset >> PAGE_SHIFT, last = first + (bytes >> PAGE_SHIFT) - 1, at;
	struct page *frame;

	if (bytes == 0)
		return;
	xa_for_each_range(&gpu->frames, at, frame, first, last)
	{
		xa_erase(&gpu->frames, at);
		push(gpu->driver->memory, frame);
		atomic_long_dec(&gpu->frames_held);
		if (at % FRAMES_AT_ONCE == 0)
			cond_resched();
	}
}

/* -- all of it ------------------------------------------------------------------------------------ */

int emu_frame_init(struct emu_driver *driver)
{
	struct emu_memory *memory = kzalloc(sizeof(*memory), GFP_KERNEL);
	int result;

	if (!memory)
		return -ENOMEM;
	spin_lock_init(&memory->lock);
	INIT_LIST_HEAD(&memory->free);
	for (u32 i = 0; i < UVMP_EMU_GPUS_MAX; i++)
		xa_init(&driver->gpu[i].frames);
	result = start_shrinker(memory);
	if (result != 0) {
		kfree(memory);
		return result;
	}
	driver->memory = memory;
	return 0;
}

void emu_frame_exit(struct emu_driver *driver)
{
	struct emu_memory *memory = driver->memory;
	struct page *frame;

	for (u32 i = 0; i < UVMP_EMU_GPUS_MAX; i++) {
		struct emu_gpu *gpu = &driver->gpu[i];

		if (atomic_long_read(&gpu->frames_held) != 0)
			emu_broken(driver, "frames of a GPU are still in use");
		emu_frame_put_gpu(gpu, 0, U64_MAX);
		xa_destroy(&gpu->frames);
	}
	if (atomic_long_read(&memory->held_cpu) != 0)
		emu_broken(driver, "frames of system memory are still in use");
	stop_shrinker(memory);
	while ((frame = pop(memory)) != NULL) {
		give_page(memory, frame);
		cond_resched();
	}
	if (atomic_long_read(&memory->owned) != 0)
		emu_broken(driver, "frames are lost");
	kfree(memory);
}

void emu_frame_stats(struct emu_driver *driver, struct emu_gpu *gpu, struct uvmp_emu_stats *stats)
{
	struct emu_memory *memory = driver->memory;

	if (gpu) {
		stats->frames_gpu += atomic_long_read(&gpu->frames_held);
		return;
	}
	for (u32 i = 0; i < driver->params.gpus; i++)
		stats->frames_gpu += atomic_long_read(&driver->gpu[i].frames_held);
	stats->frames_cpu += atomic_long_read(&memory->held_cpu);
	spin_lock(&memory->lock);
	stats->frames_cached += memory->cached;
	stats->frames_shrunk += memory->shrunk;
	spin_unlock(&memory->lock);
}
