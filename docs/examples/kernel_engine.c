/* The engine in a driver: interrupt, worker, and the calls of a process. docs/embedding-kernel.md has the
 * rules that this follows; `make test` compiles it as a kernel would, and runs it:
 * tests/unit/test_kernel_engine.c. */
#include "kernel_engine.h"

/* Actions handed out before the first is performed. */
#define ACTIONS 32u

/* What one group of decisions may need of the arena; more of it is added before it is reached, but no
 * oftener than this: the engine does not take more segments. */
#define ROOM        (256u << 10)
#define SEGMENTS_MORE 7u
#define SHORT_NS    100000000u

struct driver {
	struct mutex lock; /* of the engine: taken for each call of it, never while anything is performed */
	struct uvmp_service *service;
	struct ring **ring; /* of GPU 1, 2, ... */
	uint32_t gpus;
	struct work_struct work; /* runs bottom_half; a work item never runs twice at a time */
	struct hrtimer timer;    /* runs time_has_come */
	uint32_t segments;         /* of arena that were added */
	bool is_short;           /* the engine waits for arena */
	uint32_t count;          /* of action[], the worker's own */
	const struct uvmp_action *action[ACTIONS]; /* in the engine, valid until completed */
	enum uvmp_status result[ACTIONS];
};

/* Hard interrupt. Touches no engine: its lock is a mutex, and a decision takes longer than an interrupt
 * should. */
void top_half(struct driver *driver, uint32_t gpu)
{
	if (!ring_pending(driver->ring[gpu - 1]))
		return;
	mask_interrupt(driver->ring[gpu - 1]);
	queue_work_on_our_queue(&driver->work);
}

/* What the GPUs have written since. What does not fit into the engine's buffer stays in the ring: the GPU
 * waits, nothing is lost. */
static void take_faults(struct driver *driver)
{
	struct uvmp_fault fault;

	for (uint32_t gpu = 1; gpu <= driver->gpus; gpu++) {
		struct ring *ring = driver->ring[gpu - 1];

		while (ring_peek(ring, &fault)) {
			if (uvmp_service_fault(driver->service, gpu, &fault) == UVMP_ERR_SPACE)
				break;
			ring_advance(
			        ring); /* also past an entry that the engine refuses: it makes no sense */
		}
	}
}

static bool grow(struct driver *driver, void *segment, size_t bytes)
{
	enum uvmp_status status;

	mutex_lock(&driver->lock);
	status = uvmp_service_grow(driver->service, segment, bytes);
	mutex_unlock(&driver->lock);
	return status == UVMP_OK;
}

/* The worker looks ahead, without the lock where it allocates. Each segment is as large as all before. One that
 * cannot be had is no error: faults wait (UVMP_ERR_ARENA), and the next turn tries again. */
static void keep_room(struct driver *driver)
{
	struct uvmp_service_memory memory = {.size = sizeof(memory)};
	uint64_t needs;
	size_t bytes;
	void *segment;

	mutex_lock(&driver->lock);
	uvmp_service_memory_used(driver->service, &memory);
	needs = uvmp_service_needs(driver->service);
	mutex_unlock(&driver->lock);
	if ((memory.bytes - memory.used >= ROOM && needs == 0) || driver->segments == SEGMENTS_MORE)
		return;
	bytes = (size_t)(needs > memory.bytes ? needs : memory.bytes);
	segment = arena_alloc(bytes);
	if (segment == NULL)
		return;
	if (grow(driver, segment, bytes))
		driver->segments++;
	else
		arena_free(segment);
}

static void pull(struct driver *driver)
{
	uint64_t now_ns = ktime_get_ns();
	enum uvmp_status status = UVMP_OK;

	mutex_lock(&driver->lock);
	take_faults(driver);
	for (driver->count = 0; driver->count < ACTIONS; driver->count++) {
		status = uvmp_service_next(driver->service, now_ns, &driver->action[driver->count]);
		if (status != UVMP_OK)
			break;
	}
	driver->is_short = status == UVMP_ERR_ARENA;
	mutex_unlock(&driver->lock);
}

static void push(struct driver *driver)
{
	mutex_lock(&driver->lock);
	for (uint32_t i = 0; i < driver->count; i++)
		(void)uvmp_service_complete(driver->service, driver->action[i]->id, driver->result[i]);
	mutex_unlock(&driver->lock);
}

/* Time alone gives work too: pins end, and controllers look again. A timer that was set before and finds
 * nothing to do does no harm. */
static void set_timer(struct driver *driver)
{
	uint64_t at_ns;

	mutex_lock(&driver->lock);
	at_ns = uvmp_service_wakeup_ns(driver->service);
	mutex_unlock(&driver->lock);
	if (driver->is_short) /* keep_room tries again */
		at_ns = ktime_get_ns() + SHORT_NS;
	if (at_ns != UINT64_MAX)
		start_timer(&driver->timer, at_ns);
}

/* Hard interrupt. */
void time_has_come(struct driver *driver)
{
	queue_work_on_our_queue(&driver->work);
}

/* Worker. One after the other satisfies `after` of the actions; a driver with copy engines starts what does
 * not wait for another, and completes each when its fence has signalled. */
void bottom_half(struct driver *driver)
{
	do {
		keep_room(driver);
		pull(driver);
		for (uint32_t i = 0; i < driver->count; i++)
			driver->result[i] = perform(driver->action[i]);
		push(driver);
	} while (driver->count > 0);
	set_timer(driver);
	for (uint32_t gpu = 1; gpu <= driver->gpus; gpu++) {
		unmask_interrupt(driver->ring[gpu - 1]);
		top_half(driver, gpu); /* what came between the last look and the unmasking */
	}
}

/* A process: vm_operations_struct.fault, or a call such as free or advise. It then sleeps until perform() has
 * seen the DONE with its ticket, which wakes it with the status that DONE has. The ticket is noted before the
 * lock is let go: afterwards the worker may be quicker. */
enum uvmp_status cpu_fault(struct driver *driver, uint64_t space, uvmp_addr address, bool is_write,
                           uint64_t thread, struct waiter *waiter)
{
	enum uvmp_status status;
	uint64_t ticket;

	mutex_lock(&driver->lock);
	status = uvmp_service_cpu_fault(driver->service, space, address,
	                                is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ, thread, &ticket);
	if (status == UVMP_OK)
		waiter_expect(waiter, ticket);
	mutex_unlock(&driver->lock);
	if (status == UVMP_OK)
		queue_work_on_our_queue(&driver->work);
	return status; /* UVMP_ERR_SPACE: too many wait; sleep a little and fault again */
}
