/* A program without libc: its own entry, its own four mem functions, and the library. Takes a few decisions
 * and exits with the number of the first wrong one, 0 if all are right. */
#include "uvmpolicy/uvmpolicy.h"

#if defined(__x86_64__)
__asm__(".globl _start\n"
        "_start:\n"
        "	xorl %ebp, %ebp\n"
        "	call freestanding_main\n"
        "	movl %eax, %edi\n"
        "	movl $60, %eax\n" /* exit */
        "	syscall\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
        "_start:\n"
        "	bl freestanding_main\n"
        "	mov x8, #93\n" /* exit */
        "	svc #0\n");
#else
#error no entry code for this machine
#endif

int freestanding_main(void);
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

/* volatile keeps the compiler from recognising the loops and calling the functions that they are. */
void *memmove(void *to, const void *from, size_t bytes)
{
	volatile unsigned char *t = to;
	const volatile unsigned char *f = from;

	if ((uintptr_t)to < (uintptr_t)from)
		for (size_t i = 0; i < bytes; i++)
			t[i] = f[i];
	else
		for (size_t i = bytes; i-- > 0;)
			t[i] = f[i];
	return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	return memmove(to, from, bytes);
}

void *memset(void *to, int value, size_t bytes)
{
	volatile unsigned char *t = to;

	for (size_t i = 0; i < bytes; i++)
		t[i] = (unsigned char)value;
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const volatile unsigned char *x = a, *y = b;

	for (size_t i = 0; i < bytes; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* 512 pages, [0,256) there already, page 300 faults: everything comes [driver: density]. */
static bool density_is_right(void)
{
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_facts facts = {
	        .to = 1, .faulted_region = {300, 301}};
	struct uvmp_prefetch_state state;
	struct uvmp_prefetch_hint hint;
	uvmp_mask faulted = {{0}}, resident = {{0}};

	uvmp_prefetch_params_init(&params, UVMP_PREFETCH_DENSITY);
	uvmp_prefetch_state_init(&state);
	uvmp_mask_set(&faulted, 300);
	uvmp_mask_region_set(&resident, (struct uvmp_region){0, 256});
	facts.faulted = &faulted;
	facts.resident = &resident;
	return uvmp_block_from_shape(512, 0, 16, &facts.block) == UVMP_OK &&
	       uvmp_prefetch_decide(&params, &facts, &state, &hint) == UVMP_OK && hint.to == 1 &&
	       uvmp_mask_weight(&hint.pages) == 511 && !uvmp_mask_test(&hint.pages, 300);
}

static bool policy_is_right(void)
{
	static const char text[] = "prefetch=density threshold=60 quirks=0";
	struct uvmp_policy policy, again;
	char printed[UVMP_POLICY_TEXT_MAX];
	size_t length = 0;

	if (uvmp_policy_parse(text, sizeof(text) - 1, &policy, NULL) != UVMP_OK ||
	    policy.prefetch.threshold != 60 || policy.quirks ||
	    uvmp_policy_print(&policy, printed, sizeof(printed)) != UVMP_OK)
		return false;
	while (printed[length] != '\0')
		length++;
	return uvmp_policy_parse(printed, length, &again, NULL) == UVMP_OK &&
	       again.prefetch.threshold == 60 && again.evict == policy.evict &&
	       uvmp_policy_parse("threshold=101", 13, &again, NULL) == UVMP_ERR_RANGE;
}

/* By page ascending, then the most intrusive access first. */
static bool order_is_right(void)
{
	static const struct uvmp_fault entry[4] = {
	        {.address = 0x3000, .access = UVMP_ACCESS_READ},
	        {.address = 0x1000, .access = UVMP_ACCESS_READ},
	        {.address = 0x2000, .access = UVMP_ACCESS_WRITE},
	        {.address = 0x1000, .access = UVMP_ACCESS_ATOMIC_STRONG},
	};
	uint32_t order[4] = {0, 1, 2, 3};
	uint64_t scratch[UVMP_FAULT_ORDER_WORDS(4)];

	uvmp_fault_order(entry, order, 4, scratch);
	return order[0] == 3 && order[1] == 1 && order[2] == 2 && order[3] == 0;
}

static bool allocation_is_right(void)
{
	struct uvmp_allocation a;

	return uvmp_allocation_round(4202500, &a) == UVMP_OK && a.rounded_bytes == 4259840 &&
	       a.large_trees == 2;
}

int freestanding_main(void)
{
	if (!density_is_right())
		return 1;
	if (!policy_is_right())
		return 2;
	if (!order_is_right())
		return 3;
	return allocation_is_right() ? 0 : 4;
}
