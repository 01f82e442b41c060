/* The emulated GPU of the kernel adapter, outside of the kernel (tests/support/kernel): the fault ring and
 * its interrupt, the access counters, warps that run, stall, are replayed, cancelled and killed. A test is
 * the driver. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "../../adapters/kernel/emu.h"

#define PAGES 64u
#define BASE  UINT64_C(0x200000000)
#define GPUS  2u

static struct emu_driver driver;
static struct emu_space space = {.id = 7};
static struct emu_range *range;
static struct page *frames;
static u32 bottom_halves, checks_failed;

/* -- replacements for the other files -- */

struct emu_range *emu_range_find(struct emu_space *where, u64 address)
{
	return where == &space && address >= BASE && address < BASE + PAGES * PAGE_SIZE ? range : NULL;
}

void emu_broken(struct emu_driver *where, const char *what)
{
	(void)where;
	(void)what;
	__atomic_add_fetch(&checks_failed, 1, __ATOMIC_RELAXED);
}

static pthread_mutex_t doorbell = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rings = PTHREAD_COND_INITIALIZER;

void emu_bottom_interrupt(struct emu_driver *where)
{
	(void)where;
	pthread_mutex_lock(&doorbell);
	bottom_halves++;
	pthread_cond_signal(&rings);
	pthread_mutex_unlock(&doorbell);
}

/* -- one GPU without its thread, two with -- */

static int set_up(void **state)
{
	(void)state;
	driver = (struct emu_driver){
	        .params = {.gpus = GPUS, .fault_entries = 8, .counter_entries = 4, .utlbs = 4}};
	range = calloc(1, sizeof(*range) + PAGES * sizeof(range->page[0]));
	frames = aligned_alloc(sizeof(*frames), PAGES * sizeof(*frames));
	assert_non_null(range);
	assert_non_null(frames);
	memset(frames, 0, PAGES * sizeof(*frames));
	range->space = &space;
	range->base = BASE;
	range->bytes = PAGES * PAGE_SIZE;
	bottom_halves = checks_failed = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(range);
	free(frames);
	assert_int_equal(checks_failed, 0);
	return 0;
}

static int set_up_gpus(void **state)
{
	set_up(state);
	for (u32 i = 0; i < GPUS; i++)
		assert_int_equal(emu_gpu_init(&driver.gpu[i], &driver, i + 1u), 0);
	return 0;
}

static int tear_down_gpus(void **state)
{
	for (u32 i = 0; i < GPUS; i++)
		emu_gpu_exit(&driver.gpu[i]);
	return tear_down(state);
}

/* What hardware does to a ring it does under the lock. */
static bool put(struct emu_gpu *gpu, u64 address)
{
	struct uvmp_fault fault = {.address = address, .access = UVMP_ACCESS_READ, .is_valid = true};
	unsigned long flags;
	bool has_room;

	spin_lock_irqsave(&gpu->lock, flags);
	has_room = emu_ring_put(gpu, &fault);
	emu_ring_interrupt(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
	return has_room;
}

static void write_entries(struct emu_gpu *gpu)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	emu_ring_write(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
}

static struct emu_gpu *bare_gpu(void)
{
	struct emu_gpu *gpu = &driver.gpu[0];

	gpu->driver = &driver;
	gpu->id = 1;
	spin_lock_init(&gpu->lock);
	assert_int_equal(emu_ring_init(gpu), 0);
	assert_int_equal(emu_counter_init(gpu), 0);
	return gpu;
}

static void drop_bare_gpu(struct emu_gpu *gpu)
{
	emu_ring_exit(gpu);
	emu_counter_exit(gpu);
}

static void assert_fetches(struct emu_gpu *gpu, u64 address)
{
	struct uvmp_fault fault;

	assert_true(emu_ring_fetch(gpu, &fault));
	assert_int_equal(fault.address, address);
	assert_true(fault.is_valid);
}

/* -- the ring -- */

static void test_ring_order(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct uvmp_fault fault;
	u64 written = 0, fetched = 0;

	(void)state;
	assert_false(emu_ring_fetch(gpu, &fault));
	/* through every position, with every filling, several times around */
	for (u32 round = 0; round < 10; round++) {
		for (u32 count = 1; count < 8; count++) {
			for (u32 i = 0; i < count; i++)
				assert_true(put(gpu, ++written));
			assert_false(emu_ring_is_empty(gpu));
			write_entries(gpu);
			for (u32 i = 0; i < count; i++)
				assert_fetches(gpu, ++fetched);
			assert_true(emu_ring_is_empty(gpu));
			assert_false(emu_ring_fetch(gpu, &fault));
		}
	}
	assert_int_equal(gpu->stats.faults_written, written);
	drop_bare_gpu(gpu);
}

static void test_ring_full(void **state)
{
	struct emu_gpu *gpu = bare_gpu();

	(void)state;
	for (u64 i = 1; i < 8; i++)
		assert_true(put(gpu, i));
	assert_false(put(gpu, 8)); /* one slot stays free */
	write_entries(gpu);
	assert_fetches(gpu, 1);
	assert_true(put(gpu, 9));
	assert_false(put(gpu, 10));
	write_entries(gpu);
	for (u64 i = 2; i < 8; i++)
		assert_fetches(gpu, i);
	assert_fetches(gpu, 9);
	assert_int_equal(gpu->stats.faults_written, 8);
	drop_bare_gpu(gpu);
}

/* The smallest ring holds one. */
static void test_ring_of_two(void **state)
{
	struct emu_gpu *gpu;

	(void)state;
	driver.params.fault_entries = 2;
	gpu = bare_gpu();
	for (u64 i = 1; i < 10; i++) {
		assert_true(put(gpu, i));
		assert_false(put(gpu, 100));
		write_entries(gpu);
		assert_fetches(gpu, i);
	}
	drop_bare_gpu(gpu);
}

/* PUT has passed it, but it is not written yet: the worker waits for a while and finds it later. A slot that
 * is used again is not ready because it once was. */
static void test_ring_not_ready(void **state)
{
	struct emu_gpu *gpu;
	struct uvmp_fault fault;

	(void)state;
	driver.params.fault_entries = 3;
	gpu = bare_gpu();
	for (u64 i = 1; i < 4; i++) {
		assert_true(put(gpu, i));
		assert_false(emu_ring_is_empty(gpu));
		assert_false(emu_ring_fetch(gpu, &fault));
		write_entries(gpu);
		assert_fetches(gpu, i);
	}
	/* the first is ready, the second is not */
	assert_true(put(gpu, 11));
	write_entries(gpu);
	assert_true(put(gpu, 12));
	assert_fetches(gpu, 11);
	assert_false(emu_ring_fetch(gpu, &fault));
	write_entries(gpu);
	assert_fetches(gpu, 12);
	drop_bare_gpu(gpu);
}

static void test_ring_flush(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct uvmp_fault fault;

	(void)state;
	assert_int_equal(emu_gpu_flush(gpu), 0);
	for (u64 i = 1; i < 6; i++)
		assert_true(put(gpu, i));
	write_entries(gpu);
	assert_true(put(gpu, 6)); /* not ready: goes too */
	assert_fetches(gpu, 1);
	assert_int_equal(emu_gpu_flush(gpu), 5);
	assert_int_equal(gpu->stats.flushed, 5);
	assert_true(emu_ring_is_empty(gpu));
	for (u64 i = 11; i < 18; i++)
		assert_true(put(gpu, i));
	assert_false(emu_ring_fetch(gpu, &fault));
	write_entries(gpu);
	for (u64 i = 11; i < 18; i++)
		assert_fetches(gpu, i);
	drop_bare_gpu(gpu);
}

/* What is there, what there ever was, and what the worker is done with: round the end of the ring, too. */
static void test_ring_positions(void **state)
{
	struct emu_gpu *gpu;

	(void)state;
	driver.params.fault_entries = 4;
	gpu = bare_gpu();
	for (u64 i = 0; i < 9; i++) {
		assert_int_equal(emu_ring_count(gpu), 0);
		assert_int_equal(emu_ring_written(gpu), 2u * i);
		assert_int_equal(emu_ring_passed(gpu), 2u * i);
		assert_true(put(gpu, 1));
		assert_true(put(gpu, 2)); /* not ready: there all the same */
		assert_int_equal(emu_ring_count(gpu), 2);
		assert_int_equal(emu_ring_written(gpu), 2u * i + 2u);
		assert_int_equal(emu_ring_passed(gpu), 2u * i);
		write_entries(gpu);
		assert_fetches(gpu, 1);
		assert_int_equal(emu_ring_passed(gpu), 2u * i + 1u);
		if (i % 2u == 0)
			assert_fetches(gpu, 2);
		else
			assert_int_equal(emu_gpu_flush(gpu), 1);
	}
	/* what was lost was never there */
	for (u64 i = 0; i < 5; i++)
		assert_int_equal(put(gpu, i), i < 3);
	assert_int_equal(emu_ring_count(gpu), 3);
	assert_int_equal(emu_ring_written(gpu), 21);
	assert_int_equal(emu_ring_passed(gpu), 18);
	drop_bare_gpu(gpu);
}

/* -- the interrupt -- */

static void test_interrupt(void **state)
{
	struct emu_gpu *gpu = bare_gpu();

	(void)state;
	emu_gpu_unmask(gpu);
	assert_int_equal(kernel_interrupt(), 0); /* nothing waits */
	put(gpu, 1);
	put(gpu, 2);
	assert_int_equal(kernel_interrupt(), 1);
	assert_int_equal(bottom_halves, 1);
	put(gpu, 3); /* masked by the top half */
	assert_int_equal(kernel_interrupt(), 0);
	emu_gpu_unmask(gpu);
	assert_int_equal(kernel_interrupt(), 1);
	write_entries(gpu);
	for (u64 i = 1; i < 4; i++)
		assert_fetches(gpu, i);
	emu_gpu_unmask(gpu);
	assert_int_equal(kernel_interrupt(), 0);
	put(gpu, 4);
	assert_int_equal(kernel_interrupt(), 1);
	assert_int_equal(bottom_halves, 3);
	assert_int_equal(gpu->stats.interrupts, 3);
	drop_bare_gpu(gpu);
	assert_int_equal(bottom_halves, 3);
}

/* A ring that is destroyed ends its interrupt. */
static void test_interrupt_at_the_end(void **state)
{
	struct emu_gpu *gpu = bare_gpu();

	(void)state;
	put(gpu, 1);
	emu_gpu_silence(gpu);
	assert_int_equal(bottom_halves, 1);
	put(gpu, 2);
	emu_gpu_unmask(gpu); /* the worker's last turn */
	assert_int_equal(kernel_interrupt(), 0);
	drop_bare_gpu(gpu);
	assert_int_equal(bottom_halves, 1);
}

/* Hardware, interrupt and worker at the same time. Hardware often waits until everything was fetched: if one
 * wake-up is lost, that never ends. */
#define FAULTS 100000u
static u64 fetched_count;

static int interrupt_thread(void *argument)
{
	(void)argument;
	while (!kthread_should_stop())
		if (kernel_interrupt() == 0)
			sched_yield();
	return 0;
}

static int hardware_thread(void *argument)
{
	struct emu_gpu *gpu = argument;
	u64 random = 1;

	for (u64 i = 1; i <= FAULTS; i++) {
		while (!put(gpu, i)) {
			write_entries(gpu);
			sched_yield();
		}
		if (uvmp_random_below(&random, 4) == 0)
			write_entries(gpu);
		if (uvmp_random_below(&random, 8) != 0)
			continue;
		write_entries(gpu);
		while (__atomic_load_n(&fetched_count, __ATOMIC_ACQUIRE) != i)
			sched_yield();
	}
	write_entries(gpu);
	return 0;
}

static void test_no_wake_up_is_lost(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct task_struct *interrupt, *hardware;
	struct uvmp_fault fault;
	u64 expected = 1;

	(void)state;
	fetched_count = 0;
	interrupt = kthread_run(interrupt_thread, NULL, "interrupt");
	hardware = kthread_run(hardware_thread, gpu, "hardware");
	while (expected <= FAULTS) {
		pthread_mutex_lock(&doorbell);
		while (bottom_halves == 0)
			pthread_cond_wait(&rings, &doorbell);
		bottom_halves = 0;
		pthread_mutex_unlock(&doorbell);
		while (emu_ring_fetch(gpu, &fault)) {
			assert_int_equal(fault.address, expected);
			__atomic_store_n(&fetched_count, expected++, __ATOMIC_RELEASE);
		}
		emu_gpu_unmask(gpu);
	}
	kthread_stop(hardware);
	kthread_stop(interrupt);
	assert_true(emu_ring_is_empty(gpu));
	drop_bare_gpu(gpu);
}

/* -- counters -- */

static void access_remotely(struct emu_gpu *gpu, u64 id, u64 address, u32 times)
{
	for (u32 i = 0; i < times; i++)
		emu_counter_use(gpu, id, address, true, UVMP_ACCESS_READ);
}

static void test_counter_notifies_once(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct uvmp_note note, again;

	(void)state;
	emu_counter_set(gpu, 3, false);
	access_remotely(gpu, 7, BASE + 0x10008, 1);
	emu_counter_use(gpu, 7, BASE, false, UVMP_ACCESS_WRITE); /* local: does not count */
	access_remotely(gpu, 7, BASE + 0x1f0000, 1);
	access_remotely(gpu, 8, BASE, 1);              /* another space, */
	access_remotely(gpu, 7, BASE + (2u << 20), 1); /* and the 2 MiB behind it */
	assert_false(emu_counter_has_entries(gpu));
	access_remotely(gpu, 7, BASE + 0x3fff8, 1);
	assert_true(emu_counter_has_entries(gpu));
	access_remotely(gpu, 7, BASE, 100);
	assert_true(emu_counter_fetch(gpu, &note));
	assert_false(emu_counter_fetch(gpu, &again));
	assert_int_equal(note.address, BASE + 0x30000);
	assert_int_equal(note.instance, 7);
	assert_int_equal(note.aperture, UVMP_APERTURE_VID);
	assert_int_equal(note.subcontext, 0);
	assert_int_equal(note.sub_granularity, 1u << 1 | 1u << 3 | 1u << 31);

	/* another counter's clear is not this one's */
	emu_counter_clear(gpu, note.bank, note.tag + 1u, false);
	emu_counter_clear(gpu, note.bank + 1u, note.tag, false);
	emu_counter_clear(gpu, 4, note.tag, false); /* out of range: nothing */
	emu_counter_clear(gpu, 0, 256, false);
	access_remotely(gpu, 7, BASE, 100);
	assert_false(emu_counter_fetch(gpu, &again));
	emu_counter_clear(gpu, note.bank, note.tag, false);
	access_remotely(gpu, 7, BASE + 0x20000, 2);
	assert_false(emu_counter_fetch(gpu, &again));
	access_remotely(gpu, 7, BASE + 0x20000, 1);
	assert_true(emu_counter_fetch(gpu, &again));
	assert_int_equal(again.bank, note.bank);
	assert_int_equal(again.tag, note.tag);
	assert_int_equal(again.sub_granularity, 1u << 2);
	emu_counter_clear(gpu, 0, 0, true);
	access_remotely(gpu, 7, BASE, 3);
	assert_true(emu_counter_fetch(gpu, &again));
	drop_bare_gpu(gpu);
}

/* What did not fit is said with the next access. */
static void test_notifications_full(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct uvmp_note note;

	(void)state;
	emu_counter_set(gpu, 1, false);
	for (u64 i = 0; i < 5; i++)
		access_remotely(gpu, 7, BASE + (i << 21), 1);
	for (u64 i = 0; i < 3; i++) {
		assert_true(emu_counter_fetch(gpu, &note));
		assert_int_equal(note.address, BASE + (i << 21));
	}
	assert_false(emu_counter_fetch(gpu, &note));
	access_remotely(gpu, 7, BASE + (UINT64_C(4) << 21), 1);
	assert_true(emu_counter_fetch(gpu, &note));
	assert_int_equal(note.address, BASE + (UINT64_C(4) << 21));
	emu_counter_set(gpu, 0, false);
	access_remotely(gpu, 7, BASE, 100);
	assert_false(emu_counter_has_entries(gpu));
	drop_bare_gpu(gpu);
}

/* More memory than there are counters: what is used often notifies all the same. */
static void test_counters_give_way(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct uvmp_note note;

	(void)state;
	emu_counter_set(gpu, 1000, false);
	for (u32 i = 0; i < 4000; i++) {
		access_remotely(gpu, 7, BASE, 1);
		access_remotely(gpu, 7, BASE + ((u64)(i + 1u) << 21), 1);
	}
	assert_true(emu_counter_fetch(gpu, &note));
	assert_int_equal(note.address, BASE);
	assert_false(emu_counter_fetch(gpu, &note));
	drop_bare_gpu(gpu);
}

static void test_no_counters(void **state)
{
	struct emu_gpu *gpu;

	(void)state;
	driver.params.counter_entries = 0;
	gpu = bare_gpu();
	emu_counter_set(gpu, 1, false);
	access_remotely(gpu, 7, BASE, 100);
	assert_false(emu_counter_has_entries(gpu));
	drop_bare_gpu(gpu);
}

static void test_touches(void **state)
{
	struct emu_gpu *gpu = bare_gpu();
	struct emu_touch touch;
	u64 count = 0;

	(void)state;
	emu_counter_use(gpu, 7, BASE, false, UVMP_ACCESS_READ);
	assert_false(emu_counter_touched(gpu, &touch));
	emu_counter_set(gpu, 0, true);
	for (u64 i = 0; i < 5000; i++)
		emu_counter_use(gpu, 7, BASE + i, i % 2 != 0, UVMP_ACCESS_WRITE);
	while (emu_counter_touched(gpu, &touch)) {
		assert_int_equal(touch.space, 7);
		assert_int_equal(touch.address, BASE + count++);
		assert_int_equal(touch.access, UVMP_ACCESS_WRITE);
	}
	assert_true(count > 0 && count < 5000);
	emu_counter_use(gpu, 7, BASE, false, UVMP_ACCESS_READ);
	emu_counter_set(gpu, 0, true); /* a new engine does not hear of it */
	assert_false(emu_counter_touched(gpu, &touch));
	drop_bare_gpu(gpu);
}

/* -- warps -- */

/* What the worker does to a page; others' mappings stay. */
static void map(u32 gpu, u32 page, u32 on, enum uvmp_right right)
{
	struct emu_page *p = &range->page[page];
	unsigned long flags;

	spin_lock_irqsave(&driver.gpu[gpu - 1u].lock, flags);
	if (p->data[on] == NULL)
		p->data[on] = &frames[page];
	p->on[gpu] = (u8)on;
	p->right[gpu] = (u8)right;
	spin_unlock_irqrestore(&driver.gpu[gpu - 1u].lock, flags);
}

static u64 *word_of(u32 page, u32 offset)
{
	return (u64 *)(void *)(frames[page].bytes + offset);
}

struct launch {
	struct emu_gpu *gpu;
	struct emu_job *job;
	struct task_struct *task;
};

static int submit(void *argument)
{
	struct launch *launch = argument;

	return emu_gpu_submit(launch->gpu, launch->job);
}

static struct emu_job *job_of(u32 warps, struct uvmp_emu_access *access, u32 accesses)
{
	struct emu_job *job = calloc(1, sizeof(*job) + warps * sizeof(job->warp[0]));

	assert_non_null(job);
	job->space = &space;
	job->warps = warps;
	for (u32 i = 0; i < warps; i++) {
		job->warp[i].access = access + i * accesses;
		job->warp[i].accesses = accesses;
		job->warp[i].sm = i;
	}
	return job;
}

static struct launch launch(struct emu_gpu *gpu, struct emu_job *job)
{
	return (struct launch){.gpu = gpu, .job = job};
}

static void begin(struct launch *l)
{
	l->task = kthread_run(submit, l, "submit");
	assert_non_null(l->task);
}

static int end(struct launch *l)
{
	void *status;

	pthread_join(l->task->thread, &status);
	free(l->task);
	return (int)(intptr_t)status;
}

/* Waits for a fault of the GPU. */
static struct uvmp_fault next_fault(struct emu_gpu *gpu)
{
	struct uvmp_fault fault;

	while (!emu_ring_fetch(gpu, &fault))
		sched_yield();
	return fault;
}

/* Waits until so many warps are in the list. */
static void wait_for(struct emu_gpu *gpu, const struct list_head *list, u32 count)
{
	u32 found = UINT32_MAX;

	while (found != count) {
		unsigned long flags;

		found = 0;
		spin_lock_irqsave(&gpu->lock, flags);
		for (const struct list_head *at = list->next; at != list; at = at->next)
			found++;
		spin_unlock_irqrestore(&gpu->lock, flags);
		sched_yield();
	}
}

static void wait_for_stalled(struct emu_gpu *gpu, u32 count)
{
	wait_for(gpu, &gpu->stalled, count);
}

static void wait_for_limited(struct emu_gpu *gpu, u32 count)
{
	wait_for(gpu, &gpu->limited, count);
}

static struct uvmp_emu_access at(u32 kind, u32 page, u32 offset, u64 value)
{
	return (struct uvmp_emu_access){
	        .address = BASE + page * PAGE_SIZE + offset, .value = value, .kind = kind};
}

static void test_accesses(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	struct uvmp_emu_access access[] = {
	        at(UVMP_EMU_WRITE, 1, 8, 100),   at(UVMP_EMU_ADD, 1, 8, 11),
	        at(UVMP_EMU_READ, 1, 8, 0),      at(UVMP_EMU_READ, 2, 4088, 0),
	        at(UVMP_EMU_PREFETCH, 1, 0, 55), at(UVMP_EMU_ADD, 2, 4088, UINT64_MAX)};
	struct emu_job *job = job_of(2, access, 6);

	(void)state;
	job->warp[1].accesses = 0;
	map(1, 1, 1, UVMP_RIGHT_READ_WRITE_ATOMIC);
	map(1, 2, 0, UVMP_RIGHT_READ_WRITE_ATOMIC);
	*word_of(2, 4088) = 77;
	assert_int_equal(emu_gpu_submit(gpu, job), 0);
	assert_int_equal(job->warp[0].done, 6);
	assert_int_equal(job->warp[0].status, 0);
	assert_int_equal(job->warp[1].done, 0);
	assert_int_equal(job->warp[1].status, 0);
	assert_int_equal(access[1].value, 100);
	assert_int_equal(access[2].value, 111);
	assert_int_equal(access[3].value, 77);
	assert_int_equal(access[4].value, 55);
	assert_int_equal(access[5].value, 77);
	assert_int_equal(*word_of(1, 8), 111);
	assert_int_equal(*word_of(2, 4088), 76);
	assert_int_equal(gpu->stats.accesses, 6);
	assert_int_equal(gpu->stats.remote_accesses, 2);
	assert_true(emu_ring_is_empty(gpu));
	free(job);
}

/* Every access at every right: what is enough goes through, what is not faults, says why, and changes
 * nothing. */
static void test_rights(void **state)
{
	static const u8 needs[] = {[UVMP_EMU_READ] = UVMP_RIGHT_READ,
	                           [UVMP_EMU_WRITE] = UVMP_RIGHT_READ_WRITE,
	                           [UVMP_EMU_ADD] = UVMP_RIGHT_READ_WRITE_ATOMIC};
	static const u8 means[] = {[UVMP_EMU_READ] = UVMP_ACCESS_READ,
	                           [UVMP_EMU_WRITE] = UVMP_ACCESS_WRITE,
	                           [UVMP_EMU_ADD] = UVMP_ACCESS_ATOMIC_STRONG};
	static const u8 why[] = {UVMP_FAULT_INVALID_PTE, UVMP_FAULT_WRITE, UVMP_FAULT_ATOMIC};
	struct emu_gpu *gpu = &driver.gpu[0];

	(void)state;
	for (u32 kind = UVMP_EMU_READ; kind <= UVMP_EMU_ADD; kind++) {
		for (u32 right = UVMP_RIGHT_NONE; right < needs[kind]; right++) {
			struct uvmp_emu_access access = at(kind, 3, 16, 5);
			struct emu_job *job = job_of(1, &access, 1);
			struct launch l = launch(gpu, job);
			struct uvmp_fault fault;

			job->warp[0].sm = 1022;
			*word_of(3, 16) = 9;
			map(1, 3, 1, (enum uvmp_right)right);
			begin(&l);
			fault = next_fault(gpu);
			assert_int_equal(fault.address, access.address);
			assert_int_equal(fault.access, means[kind]);
			assert_int_equal(fault.type, why[right]);
			assert_int_equal(fault.utlb, 1022 % 4);
			assert_int_equal(fault.instance, 7);
			assert_int_equal(fault.aperture, UVMP_APERTURE_VID);
			assert_true(fault.timestamp_ns != 0);
			assert_int_equal(*word_of(3, 16), 9);
			emu_gpu_replay(gpu); /* too early: faults again */
			assert_int_equal(next_fault(gpu).address, fault.address);
			map(1, 3, 1, (enum uvmp_right)needs[kind]);
			emu_gpu_replay(gpu);
			assert_int_equal(end(&l), 0);
			assert_int_equal(job->warp[0].done, 1);
			assert_int_equal(job->warp[0].status, 0);
			assert_int_equal(access.value, kind == UVMP_EMU_WRITE ? 5 : 9);
			assert_int_equal(*word_of(3, 16), kind == UVMP_EMU_READ    ? 9
			                                  : kind == UVMP_EMU_WRITE ? 5
			                                                           : 14);
			free(job);
		}
	}
}

static void test_prefetch_accesses(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	struct uvmp_emu_access access[PAGES];
	struct emu_job *job = job_of(1, access, PAGES);

	(void)state;
	for (u32 i = 0; i < PAGES; i++)
		access[i] = at(UVMP_EMU_PREFETCH, i, 0, 0);
	/* never stalls, also when the ring is full */
	assert_int_equal(emu_gpu_submit(gpu, job), 0);
	assert_int_equal(job->warp[0].done, PAGES);
	assert_int_equal(gpu->stats.faults_written, 7);
	assert_int_equal(gpu->stats.faults_lost, 0);
	for (u32 i = 0; i < 7; i++) {
		struct uvmp_fault fault = next_fault(gpu);

		assert_int_equal(fault.address, access[i].address);
		assert_int_equal(fault.access, UVMP_ACCESS_PREFETCH);
	}
	emu_gpu_toggle(gpu, false);
	assert_int_equal(emu_gpu_submit(gpu, job), 0);
	assert_true(emu_ring_is_empty(gpu));
	emu_gpu_toggle(gpu, true);
	assert_int_equal(emu_gpu_submit(gpu, job), 0);
	assert_int_equal(gpu->stats.faults_written, 14);
	free(job);
}

static void test_ring_overflow(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	struct uvmp_emu_access access[PAGES];
	struct emu_job *job = job_of(PAGES, access, 1);
	struct launch l = launch(gpu, job);
	u32 seen = 0;

	(void)state;
	for (u32 i = 0; i < PAGES; i++)
		access[i] = at(UVMP_EMU_WRITE, i, 0, i + 1u);
	begin(&l);
	while (seen < PAGES) { /* seven fit, the others wait for the replay */
		wait_for_stalled(gpu, PAGES - seen);
		for (u32 i = 0; i < min(7u, PAGES - seen); i++) {
			u64 address = next_fault(gpu).address;

			map(1, (u32)((address - BASE) / PAGE_SIZE), 1, UVMP_RIGHT_READ_WRITE);
		}
		seen += min(7u, PAGES - seen);
		assert_true(emu_ring_is_empty(gpu));
		emu_gpu_replay(gpu);
	}
	assert_int_equal(end(&l), 0);
	for (u32 i = 0; i < PAGES; i++)
		assert_int_equal(*word_of(i, 0), i + 1u);
	assert_int_equal(gpu->stats.faults_written, PAGES);
	assert_int_equal(gpu->stats.faults_lost, 57 + 50 + 43 + 36 + 29 + 22 + 15 + 8 + 1);
	assert_int_equal(gpu->stats.replays, 10);
	free(job);
}

static void test_cancel(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	/* beyond all ranges; two pages */
	struct uvmp_emu_access access[] = {at(UVMP_EMU_READ, PAGES, 0, 0), at(UVMP_EMU_WRITE, PAGES, 8, 0),
	                                   at(UVMP_EMU_ADD, PAGES, 16, 0),
	                                   at(UVMP_EMU_WRITE, PAGES + 1, 0, 0)};
	struct emu_job *job = job_of(4, access, 1);
	struct launch l = launch(gpu, job);

	(void)state;
	begin(&l);
	wait_for_stalled(gpu, 4);
	for (u32 i = 0; i < 4; i++)
		next_fault(gpu);
	emu_gpu_cancel(gpu, 8, access[0].address, false); /* another space's */
	emu_gpu_cancel(gpu, 7, BASE, false);              /* another page */
	wait_for_stalled(gpu, 4);
	emu_gpu_cancel(gpu, 7, access[0].address, true);
	wait_for_stalled(gpu, 2);
	assert_int_equal(job->warp[0].status, 0);
	assert_int_equal(job->warp[1].status, -EFAULT);
	assert_int_equal(job->warp[2].status, -EFAULT);
	emu_gpu_cancel(gpu, 7, access[0].address, false);
	emu_gpu_cancel(gpu, 7, access[3].address, false);
	assert_int_equal(end(&l), 0);
	for (u32 i = 0; i < 4; i++) {
		assert_int_equal(job->warp[i].status, -EFAULT);
		assert_int_equal(job->warp[i].done, 0);
	}
	assert_int_equal(gpu->stats.cancelled, 4);
	free(job);
}

static void test_kill(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	struct uvmp_emu_access access[200], other[1] = {at(UVMP_EMU_WRITE, 2, 0, 1)};
	struct emu_job *job = job_of(200, access, 1), *stays = job_of(1, other, 1);
	struct launch l = launch(gpu, job), s = launch(gpu, stays);

	(void)state;
	map(1, 0, 1, UVMP_RIGHT_READ_WRITE_ATOMIC);
	for (u32 i = 0; i < 200; i++)
		access[i] = i < 10 ? at(UVMP_EMU_ADD, 0, 0, 1) : at(UVMP_EMU_WRITE, 1, 0, 1);
	begin(&l);
	begin(&s);
	wait_for_stalled(gpu, 191);
	kernel_kill(l.task);
	assert_int_equal(end(&l), -EINTR);
	wait_for_stalled(gpu, 1);
	for (u32 i = 0; i < 200; i++) {
		assert_int_equal(job->warp[i].done, i < 10);
		assert_int_equal(job->warp[i].status, i < 10 ? 0 : -EINTR);
	}
	assert_int_equal(*word_of(0, 0), 10);
	free(job); /* the warp is not examined again: its fault is in the ring, and a replay follows */
	map(1, 1, 1, UVMP_RIGHT_READ_WRITE_ATOMIC);
	map(1, 2, 1, UVMP_RIGHT_READ_WRITE_ATOMIC);
	emu_gpu_replay(gpu);
	assert_int_equal(end(&s), 0);
	assert_int_equal(*word_of(1, 0), 0);
	assert_int_equal(*word_of(2, 0), 1);
	free(stays);
}

static void test_limit(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	struct uvmp_emu_access access[EMU_SMS];
	struct emu_job *job = job_of(EMU_SMS, access, 1);
	struct launch l = launch(gpu, job);

	(void)state;
	for (u32 i = 0; i < EMU_SMS; i++)
		access[i] = at(UVMP_EMU_WRITE, i, 0, 1);
	emu_gpu_limit(gpu, UINT32_MAX); /* one always runs */
	begin(&l);
	assert_int_equal(next_fault(gpu).address, BASE);
	wait_for_stalled(gpu, 1);
	emu_gpu_limit(gpu, EMU_SMS - 3u);
	wait_for_stalled(gpu, 3);
	emu_gpu_replay(gpu);
	wait_for_stalled(gpu, 3);
	for (u32 i = 0; i < EMU_SMS; i++)
		map(1, i, 1, UVMP_RIGHT_READ_WRITE);
	emu_gpu_replay(gpu);
	wait_for_stalled(gpu, 0);
	emu_gpu_limit(gpu, 0);
	assert_int_equal(end(&l), 0);
	for (u32 i = 0; i < EMU_SMS; i++)
		assert_int_equal(*word_of(i, 0), 1);
	free(job);
}

/* A killed job whose warps are limited ends too. */
static void test_kill_limited(void **state)
{
	struct emu_gpu *gpu = &driver.gpu[0];
	struct uvmp_emu_access access[2] = {at(UVMP_EMU_READ, 0, 0, 0), at(UVMP_EMU_READ, 0, 0, 0)};
	struct emu_job *job = job_of(2, access, 1);
	struct launch l = launch(gpu, job);

	(void)state;
	map(1, 0, 1, UVMP_RIGHT_READ);
	emu_gpu_limit(gpu, EMU_SMS);
	begin(&l);
	wait_for_limited(gpu, 1);
	kernel_kill(l.task);
	assert_int_equal(end(&l), -EINTR);
	assert_int_equal(job->warp[0].status, 0);
	assert_int_equal(job->warp[1].status, -EINTR);
	free(job);
	emu_gpu_limit(gpu, 0);
}

/* No memory at any point: nothing is left. */
static void test_no_memory(void **state)
{
	(void)state;
	for (u32 i = 0; i < 4; i++) {
		struct emu_gpu gpu = {0};

		kernel_allocations_left = i;
		assert_int_equal(emu_gpu_init(&gpu, &driver, 1), -ENOMEM);
		kernel_allocations_left = UINT32_MAX;
		emu_gpu_exit(&gpu); /* nothing to do */
	}
}

/* -- everything at once: two GPUs on the same words, pages that come and go, programs that are killed -- */

#define WARPS    20u
#define ADDS     40u
#define LAUNCHES 60u

static bool is_over;

/* A page has one home, where the other GPU reaches it. A faulting GPU gets it, and sometimes no GPU
 * keeps it. */
static void service(struct emu_gpu *gpu, u64 *random)
{
	struct uvmp_fault fault;
	u32 page;

	while (emu_ring_fetch(gpu, &fault)) {
		page = (u32)((fault.address - BASE) / PAGE_SIZE);
		if (page < PAGES)
			map(gpu->id, page, 1, UVMP_RIGHT_READ_WRITE_ATOMIC);
		else
			emu_gpu_cancel(gpu, 7, fault.address, false);
		page = (u32)uvmp_random_below(random, PAGES);
		map(1u + (u32)uvmp_random_below(random, 2), page, 1, UVMP_RIGHT_NONE);
	}
	if (uvmp_random_below(random, 4) == 0)
		emu_gpu_flush(gpu);
	if (uvmp_random_below(random, 8) == 0)
		emu_gpu_limit(gpu, (u32)uvmp_random_below(random, EMU_SMS));
	emu_gpu_replay(gpu);
	emu_gpu_limit(gpu, 0);
	emu_gpu_unmask(gpu);
}

static int worker_thread(void *argument)
{
	u64 random = 3;

	(void)argument;
	for (;;) {
		pthread_mutex_lock(&doorbell);
		while (bottom_halves == 0 && !is_over)
			pthread_cond_wait(&rings, &doorbell);
		bottom_halves = 0;
		if (is_over) {
			pthread_mutex_unlock(&doorbell);
			return 0;
		}
		pthread_mutex_unlock(&doorbell);
		for (u32 i = 0; i < GPUS; i++)
			service(&driver.gpu[i], &random);
	}
}

static u64 sum_added;

static int program_thread(void *argument)
{
	u64 random = (u64)(uintptr_t)argument + 10u;

	for (u32 n = 0; n < LAUNCHES; n++) {
		struct uvmp_emu_access *access = calloc(WARPS * ADDS, sizeof(*access));
		struct emu_job *job = job_of(WARPS, access, ADDS);
		struct launch l = launch(&driver.gpu[uvmp_random_below(&random, GPUS)], job);
		int status;

		assert_non_null(access);
		for (u32 i = 0; i < WARPS * ADDS; i++)
			access[i] = at(UVMP_EMU_ADD, (u32)uvmp_random_below(&random, PAGES), 8, 1);
		if (uvmp_random_below(&random, 2) == 0) /* one warp goes astray at its end */
			access[ADDS - 1u].address = BASE + PAGES * PAGE_SIZE;
		begin(&l);
		if (uvmp_random_below(&random, 3) == 0)
			kernel_kill(l.task);
		status = end(&l);
		assert_true(status == 0 || status == -EINTR);
		for (u32 i = 0; i < WARPS; i++) {
			__atomic_add_fetch(&sum_added, job->warp[i].done, __ATOMIC_RELAXED);
			assert_true(job->warp[i].status != 0 || job->warp[i].done == ADDS);
		}
		free(job);
		free(access);
	}
	return 0;
}

static void test_all_at_once(void **state)
{
	struct task_struct *interrupt, *worker, *program[3];
	u64 sum = 0;

	(void)state;
	is_over = false;
	sum_added = 0;
	for (u32 page = 0; page < PAGES; page++)
		range->page[page].data[1] = &frames[page];
	interrupt = kthread_run(interrupt_thread, NULL, "interrupt");
	worker = kthread_run(worker_thread, NULL, "worker");
	for (uintptr_t i = 0; i < 3; i++)
		program[i] = kthread_run(program_thread, (void *)i, "program");
	for (u32 i = 0; i < 3; i++)
		kthread_stop(program[i]);
	pthread_mutex_lock(&doorbell);
	is_over = true;
	pthread_cond_signal(&rings);
	pthread_mutex_unlock(&doorbell);
	kthread_stop(worker);
	kthread_stop(interrupt);
	for (u32 page = 0; page < PAGES; page++)
		sum += *word_of(page, 8);
	assert_int_equal(sum, sum_added);
	assert_int_equal(sum, driver.gpu[0].stats.accesses + driver.gpu[1].stats.accesses);
	assert_true(driver.gpu[0].stats.faults_lost > 0);
	assert_true(driver.gpu[1].stats.remote_accesses > 0);
	assert_int_equal(driver.gpu[0].stats.remote_accesses, 0);
}

int main(void)
{
	const struct CMUnitTest ring[] = {
	        cmocka_unit_test_setup_teardown(test_ring_order, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_ring_full, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_ring_of_two, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_ring_not_ready, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_ring_flush, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_ring_positions, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_interrupt, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_interrupt_at_the_end, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_no_wake_up_is_lost, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_counter_notifies_once, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_notifications_full, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_counters_give_way, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_no_counters, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_touches, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_accesses, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_rights, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_prefetch_accesses, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_ring_overflow, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_cancel, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_kill, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_limit, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_kill_limited, set_up_gpus, tear_down_gpus),
	        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_all_at_once, set_up_gpus, tear_down_gpus),
	};

	return cmocka_run_group_tests_name("emulated GPU", ring, NULL, NULL);
}
