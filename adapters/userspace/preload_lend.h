/* preload_lend.h: memory that is lent to the kernel for a call, in place of managed memory (preload_calls.c), and the
 * C library's functions behind those that replace them. For files that are built with -fexceptions. */
#ifndef UVMP_PRELOAD_LEND_H
#define UVMP_PRELOAD_LEND_H

#include "preload.h"

#include <string.h>
#include <sys/socket.h>

/* -- the functions behind -- */

/* All of them are in one section, so that they are looked up at once, at the start. */
struct function {
	const char *name;
	uintptr_t at;
} __attribute__((aligned(16)));

HIDDEN uintptr_t preload_look_up(struct function *function);

static inline uintptr_t find(struct function *function)
{
	uintptr_t at = __atomic_load_n(&function->at, __ATOMIC_RELAXED);

	return at != 0 ? at : preload_look_up(function);
}

#define NAMED(name)                                                                                          \
	static struct function function_##name __attribute__((section("uvmp_functions"), used)) = {#name, 0}
#define REAL(name) ((__typeof__(&name))find(&function_##name))

/* -- lending -- */

#define PIECE ((size_t)256 << 10)

/* Memory that is not managed. NULL: out of memory. */
HIDDEN void *preload_map(size_t bytes);
/* PIECE bytes, or as many more as are wanted, for a while. NULL: out of memory. */
HIDDEN void *preload_take_room(size_t bytes);
HIDDEN void preload_give_room(void *room, size_t bytes);

struct loan {
	void *user, *room;
	size_t bytes;
	bool comes_back;
};

/* What one call has borrowed. */
struct desk {
	struct loan loan[5];
	unsigned count;
};

/* The user's memory itself, if there is none to lend. */
HIDDEN void *preload_lend(struct desk *desk, void *user, size_t bytes, bool comes_back);
/* Leaves errno as it is. */
HIDDEN void preload_settle(struct desk *desk);

static inline void leave(struct desk *desk)
{
	if (desk->count != 0)
		preload_settle(desk);
}

static inline void *lend(struct desk *desk, const void *user, size_t bytes, bool comes_back)
{
	if (!preload_is_kept(user) || bytes == 0)
		return (void *)(uintptr_t)user;
	return preload_lend(desk, (void *)(uintptr_t)user, bytes, comes_back);
}

static inline const char *lend_text(struct desk *desk, const char *text)
{
	return preload_is_kept(text) ? preload_lend(desk, (void *)(uintptr_t)text, strlen(text) + 1u, false)
	                             : text;
}

/* The end of a function settles, also when its thread is cancelled (hence -fexceptions). */
#define DESK                                                                                                 \
	struct desk desk __attribute__((cleanup(leave)));                                                    \
	desk.count = 0
#define TEXT(text)            lend_text(&desk, text)
#define IN(memory, bytes)     lend(&desk, memory, bytes, false)
#define OUT(memory, bytes)    lend(&desk, memory, bytes, true)
#define ITEM(memory)          lend(&desk, memory, sizeof(*(memory)), true)
#define ADDRESS(memory, size) lend(&desk, memory, (size) ? *(size) : 0u, true)

#define NAME_IN(a, bytes) ((__CONST_SOCKADDR_ARG){.__sockaddr__ = IN((a).__sockaddr__, bytes)})
#define NAME_OUT(a, size) ((__SOCKADDR_ARG){.__sockaddr__ = ADDRESS((a).__sockaddr__, size)})

/* A function whose arguments are lent, and that is all. */
#define CALL(type, name, parameters, ...)                                                                    \
	NAMED(name);                                                                                         \
	EXPORT type name parameters                                                                          \
	{                                                                                                    \
		DESK;                                                                                        \
		return REAL(name)(__VA_ARGS__);                                                              \
	}

#endif
