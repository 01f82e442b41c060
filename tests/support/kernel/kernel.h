/* kernel.h: what the emulated GPU needs of the kernel, made of threads, so that adapters/kernel/emu_gpu.c, emu_ring.c and
 * emu_counter.c run as they are in a program, where sanitizers see them. Each header in linux/ is this one.
 *
 * Locks are mutexes, kthreads are threads. An irq_work that was queued waits until kernel_interrupt() runs it: called by
 * a test where it wants, or again and again by a thread, which then is the interrupt. */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define __user
#define U32_MAX				 UINT32_MAX
#define min(a, b)			 ((a) < (b) ? (a) : (b))
#define container_of(at, type, member)	 ((type *)((char *)(at) - offsetof(type, member)))
#define READ_ONCE(x)			 __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)		 __atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(at)		 __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define smp_store_release(at, value)	 __atomic_store_n(at, value, __ATOMIC_RELEASE)

typedef struct {
	int value;
} atomic_t;
typedef struct {
	s64 value;
} atomic64_t;
#define atomic64_fetch_add(add, at) __atomic_fetch_add(&(at)->value, add, __ATOMIC_SEQ_CST)

typedef struct {
	long value;
} atomic_long_t;

/* What is only a member of structures here. */
#define MEMBER(name)        \
	struct name {       \
		int unused; \
	}
MEMBER(kref);
MEMBER(maple_tree);
MEMBER(rw_semaphore);
MEMBER(mutex);
MEMBER(work_struct);
MEMBER(timer_list);
MEMBER(hrtimer);
MEMBER(xarray);
MEMBER(miscdevice);
struct vm_area_struct;
struct workqueue_struct;

/* -- lists; one may be asked whether it is empty without its lock -- */

struct list_head {
	struct list_head *next, *prev;
};
#define LIST_HEAD(name) struct list_head name = {&name, &name}

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	WRITE_ONCE(list->next, list);
	list->prev = list;
}

static inline bool list_empty(const struct list_head *list)
{
	return READ_ONCE(list->next) == list;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *list)
{
	struct list_head *last = list->prev;

	WRITE_ONCE(entry->next, list);
	entry->prev = last;
	WRITE_ONCE(last->next, entry);
	list->prev = entry;
}

static inline void list_del_init(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	WRITE_ONCE(entry->prev->next, entry->next);
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *list)
{
	list_del_init(entry);
	list_add_tail(entry, list);
}

static inline void list_splice_tail_init(struct list_head *from, struct list_head *to)
{
	while (!list_empty(from))
		list_move_tail(from->next, to);
}

/* Only into empty lists. */
#define list_splice_init list_splice_tail_init
#define list_first_entry(list, type, member)	     container_of((list)->next, type, member)
#define list_first_entry_or_null(list, type, member) (list_empty(list) ? NULL : list_first_entry(list, type, member))

/* -- memory -- */

#define BITS_PER_LONG	   64
#define PAGE_SIZE	   4096ul
#define PAGE_MASK	   (~(PAGE_SIZE - 1ul))
#define offset_in_page(at) ((size_t)(at) % PAGE_SIZE)
#define GFP_KERNEL	   0

struct page {
	_Alignas(4096) char bytes[4096];
};
static inline void *kmap_local_page(struct page *page)
{
	return page->bytes;
}
#define kunmap_local(at) ((void)(at))

extern unsigned int kernel_allocations_left; /* the next one fails; initially very many */
void *kvcalloc(size_t count, size_t bytes, int flags);
#define kvzalloc(bytes, flags) kvcalloc(1, bytes, flags)
#define kvfree		       free

static inline u32 hash_64(u64 value, unsigned int bits)
{
	return (u32)(value * UINT64_C(0x9e3779b97f4a7c15) >> (64u - bits));
}

/* -- locks and time -- */

typedef pthread_mutex_t spinlock_t;
#define spin_lock_init(lock)		    pthread_mutex_init(lock, NULL)
#define spin_lock_irqsave(lock, flags)	    ((flags) = 0, (void)pthread_mutex_lock(lock))
#define spin_unlock_irqrestore(lock, flags) ((void)(flags), (void)pthread_mutex_unlock(lock))
#define cpu_relax()			    ((void)0)
#define cond_resched()			    ((void)sched_yield())
#define usleep_range(least, most)	    ((void)usleep(most))

static inline u64 ktime_get_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

/* -- threads and what they wait for -- */

typedef struct {
	pthread_cond_t wakes;
} wait_queue_head_t;

struct completion {
	wait_queue_head_t wait;
	bool is_done;
};

struct task_struct {
	pthread_t thread;
	int (*run)(void *argument);
	void *argument;
	bool is_ending; /* kthread_stop, or a signal that kills */
	wait_queue_head_t *waits;
};

extern _Thread_local struct task_struct *current;
extern pthread_mutex_t kernel_sleepers; /* all waiting and waking threads */

void init_waitqueue_head(wait_queue_head_t *wait);
void wake_up(wait_queue_head_t *wait);
void kernel_sleep(wait_queue_head_t *wait); /* once; kernel_sleepers is held */
#define wait_event_idle(wait, condition)                      \
	do {                                                  \
		pthread_mutex_lock(&kernel_sleepers);         \
		while (!(condition))                          \
			kernel_sleep(&(wait));                \
		pthread_mutex_unlock(&kernel_sleepers);       \
	} while (0)

void init_completion(struct completion *completion);
void complete(struct completion *completion);
int wait_for_completion_killable(struct completion *completion);

struct task_struct *kthread_run(int (*run)(void *argument), void *argument, const char *name, ...);
bool kthread_should_stop(void);
int kthread_stop(struct task_struct *task);
/* Sends a signal that kills to a thread that kthread_run made. */
void kernel_kill(struct task_struct *task);
#define IS_ERR(at)  ((at) == NULL)
#define PTR_ERR(at) ((void)(at), -ENOMEM)

/* -- interrupts -- */

struct irq_work {
	void (*func)(struct irq_work *irq);
	bool is_queued, is_running;
	struct irq_work *next;
};
void init_irq_work(struct irq_work *irq, void (*func)(struct irq_work *irq));
void irq_work_queue(struct irq_work *irq);
void irq_work_sync(struct irq_work *irq);
/* Runs those that are queued. The number of them. */
unsigned int kernel_interrupt(void);

#endif
