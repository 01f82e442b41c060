/* Stand-ins for what kernel_engine.c needs of the kernel and of a driver, so that it compiles and runs here. In a driver
 * this file does not exist: <linux/mutex.h>, <linux/workqueue.h>, <linux/hrtimer.h> and <linux/timekeeping.h> come instead
 * of the first part, and the driver's own functions instead of the second. */
#ifndef KERNEL_ENGINE_H
#define KERNEL_ENGINE_H

#include <uvmpolicy/service.h>

/* -- of the kernel -- */
struct mutex {
	int held;
};
void mutex_lock(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
struct work_struct {
	int queued;
};
void queue_work_on_our_queue(struct work_struct *work); /* queue_work(our_queue, work) */
struct hrtimer {
	uint64_t at_ns;
};
void start_timer(struct hrtimer *timer, uint64_t at_ns); /* hrtimer_start(timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS) */
uint64_t ktime_get_ns(void);

/* -- of the driver -- */
struct ring; /* a GPU's fault ring, in memory that the GPU writes */
bool ring_pending(struct ring *ring);
bool ring_peek(struct ring *ring, struct uvmp_fault *fault); /* the entry at GET, if there is one that is ready */
void ring_advance(struct ring *ring);
void mask_interrupt(struct ring *ring);
void unmask_interrupt(struct ring *ring);
void *arena_alloc(size_t bytes); /* kvmalloc(bytes, GFP_KERNEL) */
void arena_free(void *memory);	 /* kvfree */
enum uvmp_status perform(const struct uvmp_action *action); /* copies, maps, replays: may sleep */
struct waiter; /* a process that waits: a ticket, a completion, a status, in a list with a lock of its own */
void waiter_expect(struct waiter *waiter, uint64_t ticket);

/* -- what kernel_engine.c gives the driver -- */
struct driver;
void top_half(struct driver *driver, uint32_t gpu);
void bottom_half(struct driver *driver);
void time_has_come(struct driver *driver);
enum uvmp_status cpu_fault(struct driver *driver, uint64_t space, uvmp_addr address, bool is_write, uint64_t thread,
			   struct waiter *waiter);

#endif
