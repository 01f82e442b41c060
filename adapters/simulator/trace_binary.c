/* The reader of binary traces (adapters/common/trace_binary.h). A file is mapped; compressed input, a pipe and a file that
 * cannot be mapped are read through the buffer. The two sums are computed as the rows go by, and compared at the end. */
#include "trace_binary.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "trace_internal.h"

bool trace_is_binary(const void *bytes)
{
	return trace_binary_read(bytes) == TRACE_BINARY_MAGIC;
}

/* -- bytes -- */

/* Are there `bytes` more? The first `at` of them are at trace->from + trace->at afterwards. */
static bool need_more(struct trace *trace, size_t bytes)
{
	while (trace->end - trace->at < bytes) {
		uint64_t offset = trace->base + trace->at;
		bool is_more = !trace->map && trace_refill(trace);

		trace->base = offset - trace->at;
		if (!is_more)
			break;
	}
	if (trace->end - trace->at >= bytes)
		return true;
	if (trace->is_bad)
		return false;
	if (trace->end == trace->at && trace->base + trace->at == trace->line)
		return trace_fail(trace, "the trace has no end row: it was cut off");
	return trace_fail(trace, "the trace is cut off within this row");
}

static inline bool need(struct trace *trace, size_t bytes)
{
	return trace->end - trace->at >= bytes || need_more(trace, bytes);
}

struct unit {
	uint64_t first, second;
};

/* The next unit, which is there. */
static inline struct unit take_unit(struct trace *trace)
{
	const char *from = trace->from + trace->at;
	struct unit unit = {trace_binary_read(from), trace_binary_read(from + 8)};

	trace->sums.sum += unit.first;
	trace->sums.sums += trace->sums.sum;
	trace->sums.sum += unit.second;
	trace->sums.sums += trace->sums.sum;
	trace->at += TRACE_BINARY_UNIT;
	return unit;
}

/* The length of the units that hold a text. */
static size_t padded(size_t length)
{
	return (length + TRACE_BINARY_UNIT - 1u) / TRACE_BINARY_UNIT * TRACE_BINARY_UNIT;
}

/* A text without NUL and line feed. The bytes behind it, up to the end of its last unit, must be 0. */
static bool take_text(struct trace *trace, size_t length, const char **text)
{
	size_t whole = padded(length);

	if (!need(trace, whole))
		return false;
	*text = trace->from + trace->at;
	for (size_t i = 0; i < whole; i += TRACE_BINARY_UNIT)
		(void)take_unit(trace);
	for (size_t i = 0; i < whole; i++) {
		bool is_wrong = i < length ? (*text)[i] == '\0' || (*text)[i] == '\n' : (*text)[i] != '\0';

		if (is_wrong)
			return trace_fail(trace, "byte %zu of the text is 0x%02x", i,
					  (unsigned)(unsigned char)(*text)[i]);
	}
	return true;
}

/* -- rows -- */

/* The length of the text in the row. No other bit of the first word is set but those of `flags`. */
static bool check_first(struct trace *trace, uint64_t first, uint64_t flags)
{
	uint64_t known = 15u | flags;

	return (first & ~known) == 0 ||
	       trace_fail(trace, "reserved bits are set: 0x%016llx", (unsigned long long)(first & ~known));
}

static uint32_t value_of(uint64_t first)
{
	return (uint32_t)(first >> TRACE_BINARY_VALUE_SHIFT & 0xffffu);
}

static bool take_name(struct trace *trace, uint64_t first, const char *what, char *name, size_t room)
{
	uint32_t length = value_of(first);
	const char *text;

	if (length >= room)
		return trace_fail(trace, "name of the %s is longer than %zu bytes", what, room - 1);
	if (!take_text(trace, length, &text))
		return false;
	for (uint32_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == ',')
			return trace_fail(
				trace, "name of the %s holds a byte that is not printable ASCII, or a comma",
				what);
	memcpy(name, text, length);
	name[length] = '\0';
	return true;
}

/* A unit whose first word is a size. */
static bool take_size(struct trace *trace, uint64_t *bytes)
{
	struct unit unit;

	if (!need(trace, TRACE_BINARY_UNIT))
		return false;
	unit = take_unit(trace);
	*bytes = unit.first;
	return unit.second == 0 || trace_fail(trace, "reserved bits are set behind the size");
}

static bool take_range(struct trace *trace, struct unit unit, struct source_row *row)
{
	struct source_range *range = &row->range;

	row->kind = SOURCE_RANGE;
	range->base = unit.second;
	range->is_fresh = (unit.first & TRACE_BINARY_FRESH) != 0;
	return check_first(trace, unit.first,
			   TRACE_BINARY_FRESH | UINT64_C(0xffff) << TRACE_BINARY_VALUE_SHIFT) &&
	       take_size(trace, &range->bytes) &&
	       take_name(trace, unit.first, "range", range->name, sizeof(range->name)) &&
	       trace_take_range(trace, range);
}

static bool take_kernel(struct trace *trace, struct unit unit, struct source_row *row)
{
	row->kind = SOURCE_KERNEL;
	if (!check_first(trace, unit.first, UINT64_C(0xffff) << TRACE_BINARY_VALUE_SHIFT))
		return false;
	if (unit.second != 0)
		return trace_fail(trace, "reserved bits are set in the second word");
	if (value_of(unit.first) == 0)
		return trace_fail(trace, "name of the kernel is missing");
	return take_name(trace, unit.first, "kernel", row->name, sizeof(row->name));
}

static bool take_comment(struct trace *trace, struct unit unit)
{
	uint32_t length = value_of(unit.first);
	const char *text;

	if (!check_first(trace, unit.first, UINT64_C(0xffff) << TRACE_BINARY_VALUE_SHIFT))
		return false;
	if (length > TRACE_BINARY_COMMENT_MOST)
		return trace_fail(trace, "comment longer than %u bytes", TRACE_BINARY_COMMENT_MOST);
	if (unit.second != 0)
		return trace_fail(trace, "reserved bits are set in the second word");
	if (!take_text(trace, length, &text))
		return false;
	trace_read_comment(&trace->source, text, text + length);
	return true;
}

/* Pages of declared ranges. */
static bool take_part(struct trace *trace, struct unit unit, uint64_t flags, struct source_row *row)
{
	row->address = unit.second;
	return check_first(trace, unit.first, flags) && take_size(trace, &row->bytes) &&
	       trace_check_part(trace, row);
}

static bool take_free(struct trace *trace, struct unit unit, struct source_row *row)
{
	row->kind = SOURCE_FREE;
	row->is_part = (unit.first & 15u) == TRACE_BINARY_FREE_PART;
	if (row->is_part)
		return take_part(trace, unit, 0, row) && trace_free_part(trace, row);
	row->address = unit.second;
	return check_first(trace, unit.first, 0) && trace_free_whole(trace, row);
}

static bool take_advice(struct trace *trace, struct unit unit, struct source_row *row)
{
	uint32_t advice = value_of(unit.first);
	uint64_t processor = unit.first & (TRACE_BINARY_TO_GPU | TRACE_BINARY_TO_NONE);

	row->kind = SOURCE_ADVISE;
	if (advice >= TRACE_ROW_ADVICES)
		return trace_fail(trace, "advice %u is above %u", advice, TRACE_ROW_ADVICES - 1u);
	row->advice = (enum uvmp_advice)advice;
	row->to_gpu = (processor & TRACE_BINARY_TO_GPU) != 0;
	row->to_none = (processor & TRACE_BINARY_TO_NONE) != 0;
	if ((row->to_none && (row->advice != UVMP_ADVISE_PREFERRED || row->to_gpu)) ||
	    (row->to_gpu && row->advice > UVMP_ADVISE_NOT_ACCESSED_BY))
		return trace_fail(trace, "advice `%s` does not go with this processor",
				  trace_row_advice(advice));
	return take_part(trace, unit, processor | UINT64_C(0xffff) << TRACE_BINARY_VALUE_SHIFT, row);
}

static bool take_prefetch(struct trace *trace, struct unit unit, struct source_row *row)
{
	row->kind = SOURCE_PREFETCH;
	row->to_gpu = (unit.first & TRACE_BINARY_TO_GPU) != 0;
	return take_part(trace, unit, TRACE_BINARY_TO_GPU, row);
}

static bool advance_clock(struct trace *trace, uint64_t ns)
{
	if (ns > UINT64_MAX - trace->time_ns)
		return trace_fail(trace, "the time does not fit 64 bits");
	trace->time_ns += ns;
	return trace_check_time(trace, trace->time_ns);
}

/* The last row; nothing may follow. */
static bool take_end(struct trace *trace, struct trace_binary sums, struct unit unit)
{
	if (!check_first(trace, unit.first, 0) || !need(trace, TRACE_BINARY_UNIT))
		return false;
	if (unit.second != trace->line)
		return trace_fail(trace,
				  "the end row says that it is at byte %llu: bytes are missing or added",
				  (unsigned long long)unit.second);
	unit = take_unit(trace);
	if (unit.first != sums.sum || unit.second != sums.sums)
		return trace_fail(trace, "the sums of the trace are wrong: bytes before have changed");
	while (!trace->map && trace->at == trace->end && trace_refill(trace))
		;
	if (trace->at != trace->end)
		return trace_fail(trace, "bytes follow the end row");
	if (trace->map)
		trace->source.done = trace->source.total;
	trace->is_over = true;
	return !trace->is_bad;
}

static inline bool take_access(struct trace *trace, struct unit unit, struct source_row *row)
{
	static const enum uvmp_access letters[] = {UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
						   UVMP_ACCESS_ATOMIC_STRONG, UVMP_ACCESS_PREFETCH};
	uint64_t ns = unit.first >> trace->ns_shift, bytes = 0;

	row->kind = SOURCE_ACCESS;
	row->is_cpu = (unit.first & TRACE_BINARY_CPU) != 0;
	row->agent = (uint32_t)(unit.first >> TRACE_BINARY_AGENT_SHIFT) & TRACE_AGENT_MAX;
	row->access = letters[unit.first >> TRACE_BINARY_LETTER_SHIFT & 3u];
	row->address = unit.second;
	row->has_time = (unit.first & TRACE_BINARY_TIMED) != 0;
	row->time_ns = 0;
	if (trace->source.has_bytes)
		bytes = unit.first >> TRACE_BINARY_BYTES_SHIFT & TRACE_BINARY_BYTES_MASK;
	row->access_bytes = (uint16_t)bytes;
	if ((row->is_cpu && row->agent != 0) || (!row->has_time && ns != 0))
		return trace_fail(trace, "an access of the CPU has an agent, or one without time has a time");
	if (row->has_time) {
		if (!advance_clock(trace, ns))
			return false;
		row->time_ns = trace->time_ns;
	}
	return trace_check_bytes(trace, bytes) && trace_check_address(trace, row->address);
}

/* All rows but accesses. The row is empty so far; it stays so for rows that the source does not hand out. */
static bool take_other(struct trace *trace, struct trace_binary sums, struct unit unit,
		       struct source_row *row)
{
	*row = (struct source_row){.kind = SOURCE_END};
	switch (unit.first & 15u) {
	case TRACE_BINARY_TIME:
		return check_first(trace, unit.first, 0) && advance_clock(trace, unit.second);
	case TRACE_BINARY_RANGE:
		return take_range(trace, unit, row);
	case TRACE_BINARY_KERNEL:
		return take_kernel(trace, unit, row);
	case TRACE_BINARY_SYNC:
	case TRACE_BINARY_BATCH:
		row->kind = (unit.first & 15u) == TRACE_BINARY_SYNC ? SOURCE_SYNC : SOURCE_BATCH;
		return check_first(trace, unit.first, 0) &&
		       (unit.second == 0 || trace_fail(trace, "reserved bits are set in the second word"));
	case TRACE_BINARY_FREE:
	case TRACE_BINARY_FREE_PART:
		return take_free(trace, unit, row);
	case TRACE_BINARY_PREFETCH:
		return take_prefetch(trace, unit, row);
	case TRACE_BINARY_ADVISE:
		return take_advice(trace, unit, row);
	case TRACE_BINARY_COMMENT:
		return take_comment(trace, unit);
	case TRACE_BINARY_END:
		return take_end(trace, sums, unit);
	default:
		return trace_fail(trace, "unknown kind of row %u", (unsigned)(unit.first & 15u));
	}
}

static void binary_next(struct source *source, struct source_row *row)
{
	struct trace *trace = (struct trace *)source;

	row->kind = SOURCE_END;
	while (!trace->is_over && row->kind == SOURCE_END) {
		struct trace_binary sums = trace->sums;
		struct unit unit;

		source->line = trace->line = trace->base + trace->at;
		if (!need(trace, TRACE_BINARY_UNIT))
			break;
		unit = take_unit(trace);
		if (trace->map)
			source->done = trace->line;
		if ((unit.first & 15u) == TRACE_BINARY_ACCESS)
			(void)take_access(trace, unit, row);
		else
			(void)take_other(trace, sums, unit, row);
	}
	if (trace->is_over)
		*row = (struct source_row){.kind = trace->is_bad ? SOURCE_BAD : SOURCE_END};
}

/* -- opening -- */

/* Maps a regular file that has been read from its beginning. Otherwise the buffer stays in use. */
static void map(struct trace *trace)
{
	struct stat info;
	int fd = fileno(trace->in);
	void *map;

	if (input_is_packed(trace->input) || fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
	    info.st_size <= 0 || ftello(trace->in) != (off_t)trace->end)
		return;
	map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	(void)madvise(map, (size_t)info.st_size, MADV_SEQUENTIAL);
	trace->from = trace->map = map;
	trace->end = trace->map_bytes = (size_t)info.st_size;
}

bool trace_begin_binary(struct trace *trace)
{
	uint64_t second;

	trace->source.is_binary = true;
	trace->source.next = binary_next;
	trace->from = trace->buffer;
	map(trace);
	if (!need(trace, TRACE_BINARY_UNIT))
		return false;
	second = take_unit(trace).second;
	if (second >> 32 != TRACE_BINARY_ORDER)
		return trace_fail_at(trace, 12, "the byte order is not little-endian");
	trace->source.has_bytes = (uint32_t)second == TRACE_BINARY_SIZED;
	trace->ns_shift = trace->source.has_bytes ? TRACE_BINARY_SIZED_NS_SHIFT : TRACE_BINARY_NS_SHIFT;
	if (!trace->source.has_bytes && (uint32_t)second != TRACE_BINARY_VERSION)
		return trace_fail_at(trace, 8,
				     "binary traces of version %u are unknown, the versions are %u and %u",
				     (unsigned)second, TRACE_BINARY_VERSION, TRACE_BINARY_SIZED);
	return true;
}

void trace_end_binary(struct trace *trace)
{
	if (trace->map)
		munmap(trace->map, trace->map_bytes);
}
