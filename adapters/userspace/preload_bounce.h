/* preload_bounce.h: bounce buffers, which replace managed memory in system calls (preload_calls.c), and the
 * functions of the C library behind the replaced ones. For files that are built with -fexceptions. */
#ifndef UVMP_PRELOAD_BOUNCE_H
#define UVMP_PRELOAD_BOUNCE_H

#include "preload.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* -- functions of the C library -- */

/* All are in one section, so that a constructor finds them all at once. */
struct function {
	const char *name;
	uintptr_t at;
} __attribute__((aligned(16)));

HIDDEN uintptr_t preload_find_function(struct function *function);

static inline uintptr_t find(struct function *function)
{
	uintptr_t at = __atomic_load_n(&function->at, __ATOMIC_RELAXED);

	return at != 0 ? at : preload_find_function(function);
}

#define NAMED(name)                                                                                          \
	static struct function function_##name __attribute__((section("uvmp_functions"), used)) = {#name, 0}
#define REAL(name) ((__typeof__(&name))find(&function_##name))

/* -- bounce buffers -- */

#define BUFFER_BYTES ((size_t)256 << 10)

/* Memory that is not managed. NULL: out of memory. */
HIDDEN void *preload_map_buffer(size_t bytes);
/* A buffer of BUFFER_BYTES, or of `bytes` if that is more. NULL: out of memory. */
HIDDEN void *preload_take_buffer(size_t bytes);
HIDDEN void preload_give_buffer(void *buffer, size_t bytes);

struct bounce {
	void *user, *buffer;
	size_t bytes;
	bool copies_back;
};

/* The bounce buffers of one call. */
struct bounces {
	struct bounce bounce[5];
	unsigned count;
};

/* A copy of the user's memory, copied back at the end if `copies_back`. Out of memory: the user's memory
 * itself. */
HIDDEN void *preload_bounce(struct bounces *bounces, void *user, size_t bytes, bool copies_back);
/* Preserves errno. */
HIDDEN void preload_end_bounces(struct bounces *bounces);

struct buffer {
	void *at;
	size_t bytes;
};

/* For __attribute__((cleanup)): preserves errno. */
static inline void give_back(struct buffer *buffer)
{
	int error = errno;

	if (buffer->at)
		preload_give_buffer(buffer->at, buffer->bytes);
	errno = error;
}

static inline void end_bounces(struct bounces *bounces)
{
	if (bounces->count != 0)
		preload_end_bounces(bounces);
}

static inline void *bounce_memory(struct bounces *bounces, const void *user, size_t bytes, bool copies_back)
{
	if (!preload_is_bounced(user) || bytes == 0)
		return (void *)(uintptr_t)user;
	return preload_bounce(bounces, (void *)(uintptr_t)user, bytes, copies_back);
}

static inline const char *bounce_text(struct bounces *bounces, const char *text)
{
	return preload_is_bounced(text)
		       ? preload_bounce(bounces, (void *)(uintptr_t)text, strlen(text) + 1u, false)
		       : text;
}

/* The buffers are copied back at the end of the function, also if its thread is cancelled (hence
 * -fexceptions). */
#define BOUNCES                                                                                              \
	struct bounces bounces __attribute__((cleanup(end_bounces)));                                        \
	bounces.count = 0
#define TEXT(text)	      bounce_text(&bounces, text)
#define IN(memory, bytes)     bounce_memory(&bounces, memory, bytes, false)
#define OUT(memory, bytes)    bounce_memory(&bounces, memory, bytes, true)
#define ITEM(memory)	      bounce_memory(&bounces, memory, sizeof(*(memory)), true)
#define ADDRESS(memory, size) bounce_memory(&bounces, memory, (size) ? *(size) : 0u, true)

#define NAME_IN(a, bytes) ((__CONST_SOCKADDR_ARG){.__sockaddr__ = IN((a).__sockaddr__, bytes)})
#define NAME_OUT(a, size) ((__SOCKADDR_ARG){.__sockaddr__ = ADDRESS((a).__sockaddr__, size)})

/* A function that only copies its arguments through bounce buffers. */
#define CALL(type, name, parameters, ...)                                                                    \
	NAMED(name);                                                                                         \
	EXPORT type name parameters                                                                          \
	{                                                                                                    \
		BOUNCES;                                                                                     \
		return REAL(name)(__VA_ARGS__);                                                              \
	}

#endif
