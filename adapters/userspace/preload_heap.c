/* A heap for the pager's own memory, in programs whose allocator is not the C library's
 * (preload_next.h). Blocks are powers of two, with a head before the memory. A free block is in the
 * list of its size. */
#include "preload_next.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEAP_MOST   ((size_t)1 << 36)
#define HEAP_LEAST  ((size_t)1 << 26)
#define HEAD_BYTES  ((size_t)64)
#define PAGE_BYTES  ((size_t)4096)
#define CLASS_LEAST 7u
#define CLASSES	    40u
#define KEPT_MOST   ((size_t)1 << 16) /* larger blocks return their memory to the system when freed */

struct head {
	struct head *next; /* free blocks of this size */
	uint8_t *block;
	uint32_t class;
};
_Static_assert(sizeof(struct head) <= HEAD_BYTES, "a header fits");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *heap;
static size_t heap_bytes, used;
static struct head *idle[CLASSES];

/* Reserves address space, as much as the system allows: memory is used only where the heap is. */
static void open_heap(void)
{
	for (size_t bytes = HEAP_MOST; !heap && bytes >= HEAP_LEAST; bytes /= 2u) {
		void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

		if (memory == MAP_FAILED)
			continue;
		heap_bytes = bytes;
		__atomic_store_n(&heap, memory, __ATOMIC_RELEASE);
	}
}

bool preload_heap_has(const void *memory)
{
	const uint8_t *begin = __atomic_load_n(&heap, __ATOMIC_ACQUIRE);

	return begin && (uintptr_t)memory - (uintptr_t)begin < heap_bytes;
}

static struct head *head_of(const void *memory)
{
	return (struct head *)((uintptr_t)memory - HEAD_BYTES);
}

static uint32_t class_of(size_t bytes)
{
	uint32_t class = CLASS_LEAST;

	while (class < CLASSES && (size_t)1 << class < bytes)
		class ++;
	return class;
}

/* A zeroed block of this size. */
static uint8_t *take_block(uint32_t class)
{
	size_t bytes = (size_t)1 << class, begin;
	uint8_t *block = NULL;

	pthread_mutex_lock(&lock);
	if (!heap)
		open_heap();
	if (idle[class]) {
		block = idle[class]->block;
		idle[class] = idle[class]->next;
		memset(block, 0, bytes <= KEPT_MOST ? bytes : HEAD_BYTES);
	} else if (heap) {
		begin = bytes < PAGE_BYTES ? used : (used + PAGE_BYTES - 1u) / PAGE_BYTES * PAGE_BYTES;
		if (begin <= heap_bytes && bytes <= heap_bytes - begin) {
			block = heap + begin;
			used = begin + bytes;
		}
	}
	pthread_mutex_unlock(&lock);
	return block;
}

void *preload_heap_take(size_t bytes, size_t alignment)
{
	size_t step = alignment > HEAD_BYTES ? alignment : HEAD_BYTES;
	uint32_t class =
		bytes > HEAP_MOST || step > HEAP_MOST ? CLASSES : class_of(bytes + step + HEAD_BYTES);
	uint8_t *block = class < CLASSES ? take_block(class) : NULL, *memory;

	if (!block)
		return NULL;
	memory = block + HEAD_BYTES;
	memory += (step - (uintptr_t)memory % step) % step;
	*head_of(memory) = (struct head){NULL, block, class};
	return memory;
}

/* The head of a free block is at its beginning. A large block returns its memory to the system. */
void preload_heap_give(void *memory)
{
	struct head head = *head_of(memory), *at = (struct head *)(void *)head.block;
	size_t bytes = (size_t)1 << head.class;

	if (bytes > KEPT_MOST)
		syscall(SYS_madvise, head.block, bytes, MADV_DONTNEED);
	pthread_mutex_lock(&lock);
	*at = (struct head){idle[head.class], head.block, head.class};
	idle[head.class] = at;
	pthread_mutex_unlock(&lock);
}

size_t preload_heap_usable(const void *memory)
{
	const struct head *head = head_of(memory);

	return ((size_t)1 << head->class) - (size_t)((const uint8_t *)memory - head->block);
}

void preload_heap_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}
