/* Bounce buffers, and the functions of the C library behind the replaced ones. */
#undef _FORTIFY_SOURCE
#include "preload_bounce.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPARES 32u /* buffers kept for the next call */

extern HIDDEN struct function __start_uvmp_functions[], __stop_uvmp_functions[];

static long missing_function(void)
{
	errno = ENOSYS;
	return -1;
}

uintptr_t preload_find_function(struct function *function)
{
	int error = errno;
	uintptr_t at = (uintptr_t)dlsym(RTLD_NEXT, function->name);

	if (at == 0)
		at = (uintptr_t)missing_function;
	__atomic_store_n(&function->at, at, __ATOMIC_RELAXED);
	errno = error;
	return at;
}

__attribute__((constructor)) static void find_all_functions(void)
{
	for (struct function *f = __start_uvmp_functions; f != __stop_uvmp_functions; f++)
		preload_find_function(f);
}

static void *spare[SPARES];

void *preload_map_buffer(size_t bytes)
{
	void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Signal handlers call this too, so it takes no lock. */
void *preload_take_buffer(size_t bytes)
{
	if (bytes > BUFFER_BYTES)
		return preload_map_buffer(bytes);
	for (unsigned i = 0; i < SPARES; i++) {
		void *buffer = __atomic_load_n(&spare[i], __ATOMIC_RELAXED)
				       ? __atomic_exchange_n(&spare[i], NULL, __ATOMIC_ACQUIRE)
				       : NULL;

		if (buffer)
			return buffer;
	}
	return preload_map_buffer(BUFFER_BYTES);
}

void preload_give_buffer(void *buffer, size_t bytes)
{
	for (unsigned i = 0; bytes <= BUFFER_BYTES && i < SPARES; i++) {
		void *nothing = NULL;

		if (__atomic_compare_exchange_n(&spare[i], &nothing, buffer, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	syscall(SYS_munmap, buffer, bytes <= BUFFER_BYTES ? BUFFER_BYTES : bytes);
}

void preload_end_bounces(struct bounces *bounces)
{
	int error = errno;

	for (unsigned i = 0; i < bounces->count; i++) {
		struct bounce *bounce = &bounces->bounce[i];

		if (bounce->copies_back)
			memcpy(bounce->user, bounce->buffer, bounce->bytes);
		preload_give_buffer(bounce->buffer, bounce->bytes);
	}
	errno = error;
}

void *preload_bounce(struct bounces *bounces, void *user, size_t bytes, bool copies_back)
{
	void *buffer = preload_take_buffer(bytes);

	if (!buffer)
		return user;
	memcpy(buffer, user, bytes);
	bounces->bounce[bounces->count++] = (struct bounce){user, buffer, bytes, copies_back};
	return buffer;
}
