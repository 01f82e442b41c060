/* The allocator behind libuvmp-preload (preload_next.h). It is found at the first use, which may be before
 * any constructor has run. */
#undef _FORTIFY_SOURCE
#include "preload_next.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include "segment.h"

/* The C library's own, by the names under which they cannot be replaced. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
extern void *__libc_memalign(size_t, size_t);

__thread bool preload_is_inside __attribute__((tls_model("initial-exec")));

enum kind { UNKNOWN, LIBC, OTHER };

static enum kind kind;
static struct segment libc, allocator; /* their code */
static uintptr_t next_m, next_c, next_r, next_f, next_a, next_u;
static __thread bool is_finding __attribute__((tls_model("initial-exec")));

/* By number: ISO C has no cast from an object pointer to a function pointer. */
static uintptr_t look_up(void *where, const char *name)
{
	return (uintptr_t)dlsym(where, name);
}

/* Only functions of the allocator's own object: memory of one allocator must not be given to another. */
static uintptr_t of_allocator(const char *name)
{
	uintptr_t at = look_up(RTLD_NEXT, name);

	return segment_has(&allocator, at) ? at : 0;
}

static void find_functions(void)
{
	next_c = of_allocator("calloc");
	next_r = of_allocator("realloc");
	next_f = of_allocator("free");
	next_a = of_allocator("memalign");
	if (next_a == 0)
		next_a = of_allocator("aligned_alloc");
	next_u = of_allocator("malloc_usable_size");
}

static enum kind find(void)
{
	int error = errno;
	enum kind found = LIBC;

	is_finding = true;
	(void)segment_find((uintptr_t)gnu_get_libc_version, &libc);
	next_m = look_up(RTLD_NEXT, "malloc");
	if (next_m != 0 && !segment_has(&libc, next_m)) {
		(void)segment_find(next_m, &allocator);
		find_functions();
		if (next_c != 0 && next_r != 0 && next_f != 0)
			found = OTHER;
	}
	is_finding = false;
	__atomic_store_n(&kind, found, __ATOMIC_RELEASE);
	errno = error;
	return found;
}

static inline enum kind the_kind(void)
{
	enum kind known = __atomic_load_n(&kind, __ATOMIC_ACQUIRE);

	return known != UNKNOWN ? known : find();
}

/* While the allocator is looked up, and for the pager if the allocator is not the C library's. */
static inline bool is_for_heap(void)
{
	return is_finding || (the_kind() == OTHER && preload_is_inside);
}

static void *heap_take(size_t bytes, size_t alignment)
{
	void *memory = preload_heap_take(bytes, alignment);

	if (!memory)
		errno = ENOMEM;
	return memory;
}

void *next_malloc(size_t bytes)
{
	if (is_for_heap())
		return heap_take(bytes, 0);
	return kind == LIBC ? __libc_malloc(bytes) : ((void *(*)(size_t))next_m)(bytes);
}

void *next_calloc(size_t count, size_t bytes)
{
	size_t all;

	if (is_for_heap())
		return heap_take(__builtin_mul_overflow(count, bytes, &all) ? SIZE_MAX : all, 0);
	return kind == LIBC ? __libc_calloc(count, bytes) : ((void *(*)(size_t, size_t))next_c)(count, bytes);
}

static void *heap_resize(void *memory, size_t bytes)
{
	size_t old = preload_heap_usable(memory);
	void *to;

	if (bytes != 0 && bytes <= old)
		return memory;
	to = bytes != 0 ? next_malloc(bytes) : NULL;
	if (to)
		memcpy(to, memory, old);
	if (to || bytes == 0)
		preload_heap_give(memory);
	return to;
}

void *next_realloc(void *memory, size_t bytes)
{
	if (memory && preload_heap_has(memory))
		return heap_resize(memory, bytes);
	if (!memory && is_for_heap())
		return heap_take(bytes, 0);
	return the_kind() == LIBC ? __libc_realloc(memory, bytes)
				  : ((void *(*)(void *, size_t))next_r)(memory, bytes);
}

void next_free(void *memory)
{
	if (!memory)
		return;
	if (preload_heap_has(memory))
		preload_heap_give(memory);
	else if (the_kind() == LIBC)
		__libc_free(memory);
	else
		((void (*)(void *))next_f)(memory);
}

void *next_memalign(size_t alignment, size_t bytes)
{
	if (is_for_heap())
		return heap_take(bytes, alignment);
	if (kind == LIBC)
		return __libc_memalign(alignment, bytes);
	if (next_a != 0)
		return ((void *(*)(size_t, size_t))next_a)(alignment, bytes);
	errno = ENOMEM;
	return NULL;
}

size_t next_usable_size(void *memory)
{
	static uintptr_t of_libc;

	if (!memory)
		return 0;
	if (preload_heap_has(memory))
		return preload_heap_usable(memory);
	if (the_kind() == LIBC && of_libc == 0)
		of_libc = look_up(RTLD_NEXT, "malloc_usable_size");
	if (kind == LIBC)
		return of_libc != 0 ? ((size_t(*)(void *))of_libc)(memory) : 0;
	return next_u != 0 ? ((size_t(*)(void *))next_u)(memory) : 0;
}

uintptr_t next_function(const char *name)
{
	return the_kind() == OTHER ? of_allocator(name) : 0;
}

/* A program that takes the address of malloc may have a PLT entry for it, which is not malloc itself. */
static bool is_bypassed(void)
{
	void *found = dlsym(RTLD_DEFAULT, "malloc");
	ElfW(Sym) *symbol = NULL;
	Dl_info info, own;

	if (dladdr((void *)(uintptr_t)next_malloc, &own) == 0 ||
	    dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0)
		return true;
	return info.dli_fbase != own.dli_fbase && (!symbol || symbol->st_shndx != SHN_UNDEF);
}

bool next_is_bypassed(void)
{
	static int known; /* 0: not yet, 1: no, 2: yes */

	if (known == 0)
		known = is_bypassed() ? 2 : 1;
	return known == 2;
}

bool next_is_allocator(const void *caller)
{
	return the_kind() == OTHER && segment_has(&allocator, (uintptr_t)caller);
}

bool next_is_libc(const void *caller)
{
	(void)the_kind();
	return segment_has(&libc, (uintptr_t)caller);
}
