/* The fault ring of a GPU, and its interrupt.
 *
 * Hardware writes at PUT, the worker reads at GET; each moves one and reads the other. Reserving an
 * entry moves PUT, and the entry is ready some time later: a reader of PUT finds entries that are not
 * ready yet, also before others that are.
 *
 * The interrupt is a level: it is raised while there are entries and it is not masked. The top half
 * masks it, and the worker unmasks it when it finds no more entries. Both hold gpu->lock for that, as
 * does every writer of entries. So no entry is missed: earlier entries are found by unmasking, and
 * later ones interrupt. */
#include "emu.h"

#include <linux/delay.h>
#include <linux/slab.h>

#define SPINS  100u
#define SLEEPS 1000u

struct emu_entry {
	struct uvmp_fault fault;
	u32 is_ready;
};

static u32 after(const struct emu_gpu *gpu, u32 at)
{
	return at + 1u == gpu->entries ? 0 : at + 1u;
}

/* -- hardware's side -- */

bool emu_ring_put(struct emu_gpu *gpu, const struct uvmp_fault *fault)
{
	u32 put = gpu->put;

	/* the worker no longer uses a slot that GET has passed */
	if (after(gpu, put) == smp_load_acquire(&gpu->get))
		return false;
	WRITE_ONCE(gpu->put, after(gpu, put));
	gpu->entry[put].fault = *fault;
	gpu->stats.faults_written++;
	return true;
}

/* The newest first: hardware guarantees no order. */
void emu_ring_write(struct emu_gpu *gpu)
{
	u32 at = gpu->put;

	while (at != gpu->written) {
		at = at == 0 ? gpu->entries - 1u : at - 1u;
		smp_store_release(&gpu->entry[at].is_ready, 1u);
	}
	gpu->written = gpu->put;
}

/* -- the worker's side -- */

bool emu_ring_is_empty(struct emu_gpu *gpu)
{
	return READ_ONCE(gpu->get) == READ_ONCE(gpu->put);
}

u32 emu_ring_count(const struct emu_gpu *gpu)
{
	u32 put = READ_ONCE(gpu->put), get = READ_ONCE(gpu->get);

	return put >= get ? put - get : gpu->entries - get + put;
}

u64 emu_ring_written(struct emu_gpu *gpu)
{
	unsigned long flags;
	u64 written;

	spin_lock_irqsave(&gpu->lock, flags);
	written = gpu->stats.faults_written;
	spin_unlock_irqrestore(&gpu->lock, flags);
	return written;
}

u64 emu_ring_passed(struct emu_gpu *gpu)
{
	unsigned long flags;
	u64 passed;

	spin_lock_irqsave(&gpu->lock, flags);
	passed = gpu->stats.faults_written - emu_ring_count(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
	return passed;
}

static bool wait_until_ready(const struct emu_entry *entry)
{
	for (u32 i = 0; i < SPINS + SLEEPS; i++) {
		if (smp_load_acquire(&entry->is_ready) != 0)
			return true;
		if (i < SPINS)
			cpu_relax();
		else
			usleep_range(10, 50);
	}
	return false;
}

bool emu_ring_fetch(struct emu_gpu *gpu, struct uvmp_fault *fault)
{
	u32 get = gpu->get;
	struct emu_entry *entry = &gpu->entry[get];

	if (emu_ring_is_empty(gpu) || !wait_until_ready(entry))
		return false;
	*fault = entry->fault;
	WRITE_ONCE(entry->is_ready, 0);
	smp_store_release(&gpu->get, after(gpu, get));
	return true;
}

/* Entries present now do not become ready, and belong to the worker until GET has passed them: a full
 * ring is emptied with interrupts on. */
u32 emu_gpu_flush(struct emu_gpu *gpu)
{
	unsigned long flags;
	u32 put, count = 0;

	spin_lock_irqsave(&gpu->lock, flags);
	put = gpu->written = gpu->put;
	spin_unlock_irqrestore(&gpu->lock, flags);
	for (u32 at = gpu->get; at != put; at = after(gpu, at)) {
		WRITE_ONCE(gpu->entry[at].is_ready, 0);
		count++;
	}
	smp_store_release(&gpu->get, put);
	spin_lock_irqsave(&gpu->lock, flags);
	gpu->stats.flushed += count;
	spin_unlock_irqrestore(&gpu->lock, flags);
	return count;
}

/* -- the interrupt -- */

void emu_ring_interrupt(struct emu_gpu *gpu)
{
	if (!gpu->is_masked && !gpu->is_silent && (!emu_ring_is_empty(gpu) || emu_counter_has_entries(gpu)))
		irq_work_queue(&gpu->irq);
}

static void top_half(struct irq_work *irq)
{
	struct emu_gpu *gpu = container_of(irq, struct emu_gpu, irq);
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	gpu->is_masked = true;
	gpu->stats.interrupts++;
	spin_unlock_irqrestore(&gpu->lock, flags);
	emu_bottom_interrupt(gpu->driver);
}

void emu_gpu_unmask(struct emu_gpu *gpu)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	gpu->is_masked = false;
	emu_ring_interrupt(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
}

void emu_gpu_silence(struct emu_gpu *gpu)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	gpu->is_silent = true;
	spin_unlock_irqrestore(&gpu->lock, flags);
	irq_work_sync(&gpu->irq);
}

/* -- life -- */

int emu_ring_init(struct emu_gpu *gpu)
{
	gpu->entries = gpu->driver->params.fault_entries;
	gpu->entry = kvcalloc(gpu->entries, sizeof(*gpu->entry), GFP_KERNEL);
	if (gpu->entry == NULL)
		return -ENOMEM;
	gpu->get = gpu->put = gpu->written = 0;
	gpu->is_masked = gpu->is_silent = false;
	/* not a "hard" one, which must not take a spinlock on PREEMPT_RT */
	init_irq_work(&gpu->irq, top_half);
	return 0;
}

void emu_ring_exit(struct emu_gpu *gpu)
{
	emu_gpu_silence(gpu);
	kvfree(gpu->entry);
	gpu->entry = NULL;
}
