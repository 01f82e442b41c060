/* Recordings of rows: see shared_rows.h. Words of 64 bits: an access takes two, with a time three; all other rows are copied as
 * they are. Memory is counted in segments as the recording grows. */
#include "shared_rows.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interrupt.h"
#include "machine_memory.h"

#define BUDGET_MOST (UINT64_C(1) << 30)
#define SEGMENT_BYTES ((size_t)1 << 20)
#define NAME_MOST   4608u
#define ROW_WORDS   ((sizeof(struct source_row) + 7u) / 8u)

/* Fields of an access in its first word. */
#define IS_ACCESS	UINT64_C(1)
#define IS_CPU		UINT64_C(2)
#define HAS_TIME	UINT64_C(4)
#define ACCESS_SHIFT	8
#define BYTES_SHIFT	16
#define AGENT_SHIFT	32

enum state { EMPTY, RECORDING, COMPLETE, TOO_LARGE };

/* Shared by all processes. */
struct recording {
	_Atomic uint32_t state; /* enum state; the fields below are read when COMPLETE */
	uint64_t bytes;		/* counted in `used` */
	uint64_t words;
	char name[NAME_MOST];
	bool is_trace;
	uint64_t recorded_bytes; /* what the trace's head says */
	char recorded_policy[UVMP_POLICY_TEXT_MAX];
	bool has_faults_only;
};

struct shared_rows {
	_Atomic size_t used; /* bytes of all recordings */
	uint64_t budget;
	size_t count, total_bytes;
	uint64_t **word; /* [count]: budget bytes of addresses each; not shared, the same in all processes */
	struct recording recording[];
};

/* -- memory -- */

static void *map_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* At most an eighth of the memory that the process may have. */
static uint64_t budget(void)
{
	uint64_t bytes = machine_ram_bytes() / 8u;

	return (bytes < BUDGET_MOST ? bytes : BUDGET_MOST) / SEGMENT_BYTES * SEGMENT_BYTES;
}

struct shared_rows *shared_rows_open(size_t count)
{
	size_t bytes = sizeof(struct shared_rows) + count * sizeof(struct recording);
	struct shared_rows *rows = budget() != 0 ? map_shared(bytes) : NULL;

	if (!rows)
		return NULL;
	rows->budget = budget();
	rows->total_bytes = bytes;
	rows->count = count;
	rows->word = calloc(count, sizeof(*rows->word));
	for (size_t i = 0; i < count && rows->word; i++)
		rows->word[i] = map_shared((size_t)rows->budget); /* NULL: not recorded */
	if (rows->word)
		return rows;
	munmap(rows, bytes);
	return NULL;
}

/* Frees the memory of the recording. */
static void give_back(struct shared_rows *rows, size_t index)
{
	struct recording *r = &rows->recording[index];

#ifdef MADV_REMOVE
	(void)madvise(rows->word[index], (size_t)r->bytes, MADV_REMOVE);
#endif
	atomic_fetch_sub(&rows->used, (size_t)r->bytes);
	r->bytes = r->words = 0;
}

void shared_rows_drop(struct shared_rows *rows, size_t index)
{
	if (!rows->word[index])
		return;
	give_back(rows, index); /* the recorder has ended, perhaps by a crash */
	munmap(rows->word[index], (size_t)rows->budget);
	rows->word[index] = NULL;
}

void shared_rows_close(struct shared_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		shared_rows_drop(rows, i);
	free(rows->word);
	munmap(rows, rows->total_bytes);
}

/* -- recording -- */

/* What a recorded source has instead of its own functions. */
struct source_recorder {
	void (*next)(struct source *source, struct source_row *row);
	void (*close)(struct source *source);
	struct shared_rows *rows;
	size_t index;
	bool is_recording;
};

/* The source is read on without a recording. */
static void stop(struct source_recorder *recorder, enum state state)
{
	give_back(recorder->rows, recorder->index);
	atomic_store(&recorder->rows->recording[recorder->index].state, state);
	recorder->is_recording = false;
}

/* The end of `words` more words; NULL: they do not fit, and the recording has stopped. */
static uint64_t *take_words(struct source_recorder *recorder, size_t words)
{
	struct shared_rows *rows = recorder->rows;
	struct recording *r = &rows->recording[recorder->index];

	if ((r->words + words) * 8u > r->bytes) {
		/* Two recordings near the limit may both end here: the runs then generate their rows. */
		if (atomic_fetch_add(&rows->used, SEGMENT_BYTES) + SEGMENT_BYTES > rows->budget) {
			atomic_fetch_sub(&rows->used, SEGMENT_BYTES);
			stop(recorder, TOO_LARGE);
			return NULL;
		}
		r->bytes += SEGMENT_BYTES;
	}
	r->words += words;
	return rows->word[recorder->index] + r->words;
}

static void record_access(struct source_recorder *recorder, const struct source_row *row)
{
	uint64_t *end = take_words(recorder, row->has_time ? 3u : 2u);

	if (!end)
		return;
	if (row->has_time)
		*--end = row->time_ns;
	*--end = row->address;
	*--end = IS_ACCESS | (row->is_cpu ? IS_CPU : 0) | (row->has_time ? HAS_TIME : 0) |
		 (uint64_t)row->access << ACCESS_SHIFT | (uint64_t)row->access_bytes << BYTES_SHIFT |
		 (uint64_t)row->agent << AGENT_SHIFT;
}

static void record_other(struct source_recorder *recorder, const struct source_row *row)
{
	uint64_t *end = take_words(recorder, ROW_WORDS + 1u);

	if (!end)
		return;
	memcpy(end - ROW_WORDS, row, sizeof(*row));
	*(end - ROW_WORDS - 1u) = 0;
}

static void complete(struct source_recorder *recorder, const struct source *source)
{
	struct recording *r = &recorder->rows->recording[recorder->index];

	r->recorded_bytes = source->recorded_bytes;
	memcpy(r->recorded_policy, source->recorded_policy, sizeof(r->recorded_policy));
	r->has_faults_only = source->has_faults_only;
	r->is_trace = source->line != 0 || source->is_binary;
	recorder->is_recording = false;
	atomic_store(&r->state, COMPLETE);
}

static void record_next(struct source *source, struct source_row *row)
{
	struct source_recorder *recorder = source->recorder;

	recorder->next(source, row);
	if (!recorder->is_recording)
		return;
	if (row->kind == SOURCE_ACCESS)
		record_access(recorder, row);
	else if (row->kind == SOURCE_BAD || interrupt_caught != 0) /* an interrupt may end the rows early */
		stop(recorder, EMPTY);
	else
		record_other(recorder, row);
	if (row->kind == SOURCE_END && recorder->is_recording)
		complete(recorder, source);
}

static void record_close(struct source *source)
{
	struct source_recorder *recorder = source->recorder;

	if (recorder->is_recording)
		stop(recorder, EMPTY);
	recorder->close(source);
	free(recorder);
}

void shared_rows_record(struct shared_rows *rows, size_t index, struct source *source)
{
	struct recording *r = &rows->recording[index];
	struct source_recorder *recorder;
	uint32_t empty = EMPTY;

	if (!rows->word[index] || strlen(source->name) >= NAME_MOST ||
	    !atomic_compare_exchange_strong(&r->state, &empty, RECORDING))
		return;
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder) {
		atomic_store(&r->state, EMPTY);
		return;
	}
	strcpy(r->name, source->name);
	*recorder = (struct source_recorder){source->next, source->close, rows, index, true};
	source->recorder = recorder;
	source->next = record_next;
	source->close = record_close;
}

/* -- reading -- */

struct recorded_source {
	struct source source; /* first: the two are the same pointer to callers */
	const uint64_t *word;
	uint64_t at; /* word; of the END row, which is read again and again, in the end */
};

static void read_other(struct recorded_source *r, struct source_row *row)
{
	memcpy(row, r->word + r->at + 1u, sizeof(*row));
	if (row->kind != SOURCE_END)
		r->at += ROW_WORDS + 1u;
}

static void read_next(struct source *source, struct source_row *row)
{
	struct recorded_source *r = (struct recorded_source *)source;
	uint64_t first = r->word[r->at];

	source->done = 8u * r->at;
	if ((first & IS_ACCESS) == 0) {
		read_other(r, row);
		return;
	}
	row->kind = SOURCE_ACCESS;
	row->has_time = (first & HAS_TIME) != 0;
	row->is_cpu = (first & IS_CPU) != 0;
	row->access = (enum uvmp_access)(first >> ACCESS_SHIFT & 0xffu);
	row->access_bytes = (uint16_t)(first >> BYTES_SHIFT);
	row->agent = (uint32_t)(first >> AGENT_SHIFT);
	row->address = r->word[r->at + 1u];
	row->time_ns = row->has_time ? r->word[r->at + 2u] : 0;
	r->at += row->has_time ? 3u : 2u;
}

static void read_close(struct source *source)
{
	free(source);
}

struct source *shared_rows_source(struct shared_rows *rows, size_t index)
{
	const struct recording *recording = &rows->recording[index];
	struct recorded_source *r;

	if (!rows->word[index] || atomic_load(&recording->state) != COMPLETE)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->source.name = recording->name;
	r->source.next = read_next;
	r->source.close = read_close;
	r->source.line = recording->is_trace; /* a trace without ranges is an error */
	r->source.total = 8u * recording->words;
	r->source.recorded_bytes = recording->recorded_bytes;
	memcpy(r->source.recorded_policy, recording->recorded_policy, sizeof(recording->recorded_policy));
	r->source.has_faults_only = recording->has_faults_only;
	r->word = rows->word[index];
	return &r->source;
}
