/* A host of the engine, as small as can be: one GPU with 4 MiB, one process with 8 MiB of managed memory. It
 * prints each action instead of performing it; docs/embedding.md shows the output. */
#include <stdio.h>
#include <stdlib.h>

#include <uvmpolicy/uvmpolicy.h>

#define GPU   1u
#define SPACE 1u
#define BASE  UINT64_C(0x7f0000000000)
#define PAGE  UINT64_C(4096)
#define ROOT  UINT64_C(2097152)

static struct uvmp_service *service;
static size_t arena_bytes;
static uint64_t now_ns = 100000;
static bool is_link_broken;
static struct uvmp_fault waiting; /* what the GPU waits for, */
static bool is_waiting;           /* if it does */

static void must(enum uvmp_status status)
{
	if (status == UVMP_OK)
		return;
	fprintf(stderr, "%s\n", uvmp_status_text(status));
	exit(1);
}

static void open_engine(void)
{
	struct uvmp_service_gpu gpu = {.size = sizeof(gpu), .memory_bytes = 2 * ROOT};
	struct uvmp_service_params params = {.size = sizeof(params), .gpu = &gpu}; /* the rest: defaults */
	void *arena;

	arena_bytes = uvmp_service_size(&params, 1); /* room for one block; grow adds to it */
	arena = malloc(arena_bytes);
	must(uvmp_service_init(&params, arena, arena_bytes, &service));
	must(uvmp_service_bind(service, GPU, UVMP_APERTURE_VID, 0, 0, SPACE));
	must(uvmp_service_add_range(service, SPACE, BASE, 4 * ROOT, UVMP_RIGHT_READ_WRITE_ATOMIC, UVMP_CPU));
}

/* There can be seven segments of the arena beside the first; each here is as large as all before, or as needed. */
static void grow(void)
{
	size_t bytes = uvmp_service_needs(service);

	if (bytes < arena_bytes)
		bytes = arena_bytes;
	must(uvmp_service_grow(service, malloc(bytes), bytes));
	printf("# the arena has grown\n");
	arena_bytes += bytes;
}

static void gpu_writes(uint64_t address)
{
	waiting = (struct uvmp_fault){.address = address,
	                              .aperture = UVMP_APERTURE_VID,
	                              .type = UVMP_FAULT_INVALID_PTE,
	                              .access = UVMP_ACCESS_WRITE};
	is_waiting = true;
	must(uvmp_service_fault(service, GPU, &waiting));
}

/* After a replay what is not mapped faults again. */
static void gpu_tries_again(void)
{
	struct uvmp_page_state page = {.size = sizeof(page)};

	if (uvmp_service_page(service, SPACE, waiting.address, &page) == UVMP_OK &&
	    (page.write >> GPU & 1u) != 0)
		is_waiting = false;
	if (is_waiting)
		must(uvmp_service_fault(service, GPU, &waiting));
}

/* A real host copies, maps, flushes here. */
static enum uvmp_status perform(const struct uvmp_action *action)
{
	char text[UVMP_ACTION_TEXT_MAX];

	must(uvmp_action_print(action, text, sizeof(text)));
	puts(text);
	if (action->kind == UVMP_ACTION_COPY && is_link_broken)
		return UVMP_ERR_STATE;
	if (action->kind == UVMP_ACTION_CANCEL)
		is_waiting = false;
	if (action->kind == UVMP_ACTION_REPLAY)
		gpu_tries_again();
	return UVMP_OK;
}

/* Until nothing is left to do. What next() gives before it answers UVMP_ERR_RETRY is one group; it may be
 * completed in any order, here backwards. */
static void run(void)
{
	static uint64_t id[UVMP_SERVICE_PENDING_MAX];
	static enum uvmp_status result[UVMP_SERVICE_PENDING_MAX];
	enum uvmp_status status;
	const struct uvmp_action *action;
	uint32_t count;

	do {
		for (count = 0; (status = uvmp_service_next(service, now_ns, &action)) == UVMP_OK; count++) {
			id[count] = action->id;
			result[count] = perform(action);
		}
		for (uint32_t i = count; i > 0; i--)
			must(uvmp_service_complete(service, id[i - 1], result[i - 1]));
		if (status == UVMP_ERR_ARENA)
			grow(); /* and the decision that found no room is made */
	} while (count > 0 || status == UVMP_ERR_ARENA);
	if (!uvmp_service_check(service))
		exit(1);
	now_ns += 1000000;
}

int main(void)
{
	struct uvmp_fault unbound = {.access = UVMP_ACCESS_READ};
	uint64_t ticket;

	open_engine();

	puts("# the GPU writes to page 5 of the first block");
	gpu_writes(BASE + 5 * PAGE);
	run();

	puts("# the CPU reads it");
	must(uvmp_service_cpu_fault(service, SPACE, BASE + 5 * PAGE, UVMP_ACCESS_READ, 0, &ticket));
	run();

	puts("# the GPU writes to the second block, and the copies fail");
	is_link_broken = true;
	gpu_writes(BASE + ROOT);
	run();
	is_link_broken = false;

	puts("# the GPU writes to where nothing is");
	gpu_writes(BASE - PAGE);
	run();

	puts("# events that cannot be");
	printf("fault of GPU 7: %s\n", uvmp_status_text(uvmp_service_fault(service, 7, &unbound)));
	printf("action 1 completed again: %s\n",
	       uvmp_status_text(uvmp_service_complete(service, 1, UVMP_OK)));

	puts("# the range is freed");
	must(uvmp_service_free_range(service, SPACE, BASE, &ticket));
	run();
	return 0;
}
