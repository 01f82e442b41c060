/* The trace: what the engine was told of the first address space, as rows that `uvmsim run --trace` reads
 * (docs/uvmsim.md). With one GPU and one program that waits for its kernels the simulator takes the same
 * decisions from it, byte for byte, times included.
 *
 * The simulator has agents, each of which waits for one page at a time. Here each fault of a round of the
 * bottom half is an agent of its own, whose number leaves the fault's uTLB as its remainder by 64, as the
 * simulator computes it. */
#include "emu_bottom.h"

static void add(struct emu_bottom *b, const char *format, ...) __printf(2, 3);

static void add(struct emu_bottom *b, const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vscnprintf(b->line, sizeof(b->line), format, list);
	va_end(list);
	emu_text_add(&b->driver->trace, b->line, (size_t)length);
}

/* Ranges that are there already have their contents on the CPU, as a new engine sees it. */
static int range_again(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	emu_record_range(argument, space->id, base, bytes, false);
	return 0;
}

void emu_record_begin(struct emu_bottom *b)
{
	struct emu_space *space = xa_load(&b->spaces, EMU_TRACED_SPACE);

	emu_text_clear(&b->driver->trace);
	add(b, "uvmp-trace 1\n");
	if (space != NULL)
		emu_range_each_piece(space, 0, U64_MAX, range_again, b);
}

void emu_record_range(struct emu_bottom *b, u64 space, u64 base, u64 bytes, bool is_fresh)
{
	if (space == EMU_TRACED_SPACE)
		add(b, "range,0x%llx,%llu%s\n", base, bytes, is_fresh ? ",,fresh" : "");
}

static char letter(u8 access)
{
	switch (access) {
	case UVMP_ACCESS_READ:
		return 'r';
	case UVMP_ACCESS_WRITE:
		return 'w';
	default:
		return 'a';
	}
}

void emu_record_access(struct emu_bottom *b, u64 space, u32 gpu, u32 agent, u8 access, u64 address)
{
	if (space != EMU_TRACED_SPACE || gpu > EMU_TRACED_GPU)
		return;
	if (gpu == UVMP_CPU)
		add(b, "%llu,cpu,%c,0x%llx\n", b->now_ns, letter(access), address);
	else
		add(b, "%llu,%u,%c,0x%llx\n", b->now_ns, agent, letter(access), address);
}

void emu_record_batch(struct emu_bottom *b)
{
	add(b, "batch\n");
}

void emu_record_free(struct emu_bottom *b, u64 space, u64 base)
{
	if (space == EMU_TRACED_SPACE)
		add(b, "free,0x%llx\n", base);
}

void emu_record_free_part(struct emu_bottom *b, u64 space, u64 address, u64 bytes)
{
	if (space == EMU_TRACED_SPACE)
		add(b, "free,0x%llx,%llu\n", address, bytes);
}

static const char *name(u32 processor)
{
	return processor == UVMP_CPU ? "cpu" : processor == EMU_TRACED_GPU ? "gpu" : "none";
}

void emu_record_prefetch(struct emu_bottom *b, u64 space, u32 processor, u64 address, u64 bytes)
{
	if (space == EMU_TRACED_SPACE && processor <= EMU_TRACED_GPU)
		add(b, "prefetch,%s,0x%llx,%llu\n", name(processor), address, bytes);
}

void emu_record_advise(struct emu_bottom *b, u64 space, u32 advice, u32 processor, u64 address, u64 bytes)
{
	static const char *const what[] = {
	        [UVMP_ADVISE_PREFERRED] = "preferred",
	        [UVMP_ADVISE_ACCESSED_BY] = "accessed-by",
	        [UVMP_ADVISE_NOT_ACCESSED_BY] = "not-accessed-by",
	        [UVMP_ADVISE_READ_DUPLICATE] = "read-duplicate",
	        [UVMP_ADVISE_NO_DUPLICATE] = "no-duplicate",
	        [UVMP_ADVISE_UNSET_DUPLICATE] = "unset-duplicate",
	        [UVMP_ADVISE_DISCARD] = "discard",
	};
	bool has_processor = advice <= UVMP_ADVISE_NOT_ACCESSED_BY;

	if (space == EMU_TRACED_SPACE &&
	    (!has_processor || processor <= EMU_TRACED_GPU || processor == UVMP_PROC_NONE))
		add(b, "advise,%s,%s,0x%llx,%llu\n", what[advice], has_processor ? name(processor) : "",
		    address, bytes);
}

void emu_record_kernel(struct emu_bottom *b, u64 space, u32 gpu, bool is_begin)
{
	if (space == EMU_TRACED_SPACE && gpu == EMU_TRACED_GPU)
		add(b, is_begin ? "kernel,submission\n" : "sync\n");
}
