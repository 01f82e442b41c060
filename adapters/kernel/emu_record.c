/* The trace: the engine's events of the first address space, as rows for `uvmsim run --trace`
 * (docs/uvmsim.md). With one GPU and one program that waits for its kernels, the simulator takes the
 * same decisions from it, byte for byte, times included.
 *
 * The simulator has agents, each of which waits for one page at a time. Here each fault of a round is
 * an agent of its own. The remainder of its number by 64 is the fault's uTLB, as the simulator computes
 * it. */
#include "emu_bottom.h"
#include "trace_row.h"

static void add(struct emu_bottom *b, const char *end)
{
	emu_text_add(&b->driver->trace, b->line, (size_t)(end - b->line));
}

/* The contents of ranges that exist already are on the CPU, as a new engine assumes. */
static int range_again(struct emu_space *space, struct emu_range *range, u64 base, u64 bytes, void *argument)
{
	emu_record_range(argument, space->id, base, bytes, false);
	return 0;
}

void emu_record_begin(struct emu_bottom *b)
{
	struct emu_space *space = xa_load(&b->spaces, EMU_TRACED_SPACE);

	emu_text_clear(&b->driver->trace);
	add(b, trace_row_text(b->line, TRACE_ROW_FIRST_SIZED));
	if (space != NULL)
		emu_range_each_piece(space, 0, U64_MAX, range_again, b);
}

void emu_record_range(struct emu_bottom *b, u64 space, u64 base, u64 bytes, bool is_fresh)
{
	if (space == EMU_TRACED_SPACE)
		add(b, trace_row_range(b->line, base, bytes, "", is_fresh));
}

/* A GPU of the emulation reads and writes words; a fault of the CPU does not tell its bytes. */
static u16 bytes_of(u32 gpu, u8 access)
{
	return gpu == UVMP_CPU || access == UVMP_ACCESS_PREFETCH ? 0 : sizeof(u64);
}

void emu_record_access(struct emu_bottom *b, u64 space, u32 gpu, u32 agent, u8 access, u64 address)
{
	struct trace_access row = {.time_ns = b->now_ns,
				   .address = address,
				   .agent = agent,
				   .bytes = bytes_of(gpu, access),
				   .has_time = true,
				   .is_cpu = gpu == UVMP_CPU,
				   .access = access};

	if (space == EMU_TRACED_SPACE && gpu <= EMU_TRACED_GPU)
		add(b, trace_row_access(b->line, &row));
}

void emu_record_batch(struct emu_bottom *b)
{
	add(b, trace_row_text(b->line, TRACE_ROW_BATCH));
}

void emu_record_free(struct emu_bottom *b, u64 space, u64 base)
{
	if (space == EMU_TRACED_SPACE)
		add(b, trace_row_free(b->line, base));
}

void emu_record_free_part(struct emu_bottom *b, u64 space, u64 address, u64 bytes)
{
	if (space == EMU_TRACED_SPACE)
		add(b, trace_row_free_part(b->line, address, bytes));
}

static const char *name(u32 processor)
{
	return processor == UVMP_CPU ? "cpu" : processor == EMU_TRACED_GPU ? "gpu" : "none";
}

void emu_record_prefetch(struct emu_bottom *b, u64 space, u32 processor, u64 address, u64 bytes)
{
	if (space == EMU_TRACED_SPACE && processor <= EMU_TRACED_GPU)
		add(b, trace_row_prefetch(b->line, name(processor), address, bytes));
}

void emu_record_advise(struct emu_bottom *b, u64 space, u32 advice, u32 processor, u64 address, u64 bytes)
{
	bool has_processor = advice <= UVMP_ADVISE_NOT_ACCESSED_BY;

	if (space == EMU_TRACED_SPACE &&
	    (!has_processor || processor <= EMU_TRACED_GPU || processor == UVMP_PROC_NONE))
		add(b, trace_row_advise(b->line, advice, name(processor), address, bytes));
}

void emu_record_kernel(struct emu_bottom *b, u64 space, u32 gpu, bool is_begin)
{
	if (space == EMU_TRACED_SPACE && gpu == EMU_TRACED_GPU)
		add(b, is_begin ? trace_row_kernel(b->line, "submission")
				: trace_row_text(b->line, TRACE_ROW_SYNC));
}
