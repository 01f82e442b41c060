/* Memory for the kernel in place of managed memory, and the C library's functions that it is lent to. */
#undef _FORTIFY_SOURCE
#include "preload_lend.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECES 32u /* kept for the next call */

extern HIDDEN struct function __start_uvmp_functions[], __stop_uvmp_functions[];

static long nowhere(void)
{
	errno = ENOSYS;
	return -1;
}

uintptr_t preload_look_up(struct function *function)
{
	int error = errno;
	uintptr_t at = (uintptr_t)dlsym(RTLD_NEXT, function->name);

	if (at == 0)
		at = (uintptr_t)nowhere;
	__atomic_store_n(&function->at, at, __ATOMIC_RELAXED);
	errno = error;
	return at;
}

__attribute__((constructor)) static void look_up_all(void)
{
	for (struct function *f = __start_uvmp_functions; f != __stop_uvmp_functions; f++)
		preload_look_up(f);
}

static void *shelf[PIECES];

void *preload_map(size_t bytes)
{
	void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
	                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	return memory == MAP_FAILED ? NULL : memory;
}

/* PIECE bytes, or as many more as are wanted. NULL: out of memory. Signal handlers come here too: no locks.
 */
void *preload_take_room(size_t bytes)
{
	if (bytes > PIECE)
		return preload_map(bytes);
	for (unsigned i = 0; i < PIECES; i++) {
		void *room = __atomic_load_n(&shelf[i], __ATOMIC_RELAXED)
		                     ? __atomic_exchange_n(&shelf[i], NULL, __ATOMIC_ACQUIRE)
		                     : NULL;

		if (room)
			return room;
	}
	return preload_map(PIECE);
}

void preload_give_room(void *room, size_t bytes)
{
	for (unsigned i = 0; bytes <= PIECE && i < PIECES; i++) {
		void *nothing = NULL;

		if (__atomic_compare_exchange_n(&shelf[i], &nothing, room, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return;
	}
	syscall(SYS_munmap, room, bytes <= PIECE ? PIECE : bytes);
}

void preload_settle(struct desk *desk)
{
	int error = errno;

	for (unsigned i = 0; i < desk->count; i++) {
		struct loan *loan = &desk->loan[i];

		if (loan->comes_back)
			memcpy(loan->user, loan->room, loan->bytes);
		preload_give_room(loan->room, loan->bytes);
	}
	errno = error;
}

void *preload_lend(struct desk *desk, void *user, size_t bytes, bool comes_back)
{
	void *room = preload_take_room(bytes);

	if (!room)
		return user;
	memcpy(room, user, bytes);
	desk->loan[desk->count++] = (struct loan){user, room, bytes, comes_back};
	return room;
}
