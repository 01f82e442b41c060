/* importer.h: the interface of importers. An importer is a function that reads the input from its beginning to
 * its end and hands over rows in their order. It may be called twice with the same input: first to find out
 * which blocks of memory are touched, then to write. It need not care which of the two it is. */
#ifndef UVMSIM_IMPORT_IMPORTER_H
#define UVMSIM_IMPORT_IMPORTER_H

#include "import.h"
#include "lines.h"
#include "trace_row.h"
#include "trace_write.h"

#define IMPORT_PAGE  ((uint64_t)4096)
#define IMPORT_BLOCK ((uint64_t)2 << 20)
#define IMPORT_NONE  SIZE_MAX
#define IMPORT_ANY   UINT64_MAX

/* -- input.c: bytes -- */

/* Decoded bytes of a stream: through zstd if its first bytes say so. Of text, carriage returns, tabs and
 * blanks at the ends of lines are removed, elsewhere each becomes a blank, and each byte that is not
 * printable ASCII becomes '?' (NUL does not occur in text). */
struct import_view;

struct import_view *import_view_open(FILE *raw, bool is_text);
/* To read from. */
FILE *import_view_file(struct import_view *view);
/* Why reading failed; NULL: it did not, or errno says why. */
const char *import_view_problem(const struct import_view *view);
void import_view_close(struct import_view *view);

/* Text, line by line. */
struct import_text {
	struct line_reader lines; /* lines.text is the line in hand */
	struct import_view *view;
	const char *name;
	char *error; /* [SOURCE_ERROR_MAX] */
};

bool import_text_open(struct import_text *text, FILE *raw, const char *name, char error[SOURCE_ERROR_MAX]);
/* LINE_BAD: the error is filled. */
enum line_status import_text_next(struct import_text *text);
void import_text_close(struct import_text *text);
/* Fills the error with `NAME:LINE: ...`; returns false. */
bool import_text_bad(struct import_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Cuts a line into at most `max` fields. Returns how many there are, max + 1 if more. */
size_t import_fields(char *line, char **field, size_t max);
bool import_decimal(const char *text, uint64_t *number);
/* With or without 0x. */
bool import_hex(const char *text, uint64_t *number);

/* -- ranges.c: where accesses may go -- */

struct import_ranges {
	uint64_t *block; /* numbers of touched blocks plus 1, hashed; 0: free */
	size_t blocks, room;
	uint64_t last_block;	    /* plus 1 */
	struct source_range *range; /* sorted, apart */
	size_t ranges, ranges_room;
	size_t last_hit;
};

/* A page of this block is touched. False: out of memory. */
bool import_ranges_see(struct import_ranges *ranges, uint64_t address);
/* Makes ranges of the touched blocks: neighbours become one. NULL, or the error. */
const char *import_ranges_make(struct import_ranges *ranges);
/* NULL, or the error. */
const char *import_ranges_add(struct import_ranges *ranges, const struct source_range *range);
/* Reads --ranges: lines BASE,BYTES[,NAME], or allocations of UVM Smart, of which those of `set` (NULL: any)
 * and `benchmark` (NULL: the only one) are taken. */
bool import_ranges_read(struct import_ranges *ranges, const struct import_file *file, const char *set,
			const char *benchmark, char error[SOURCE_ERROR_MAX]);
bool import_ranges_hold(struct import_ranges *ranges, uint64_t address);
void import_ranges_free(struct import_ranges *ranges);

/* -- rows.c: the rows that importers hand over -- */

/* Which GPUs, or processes, events are of. */
#define IMPORT_SEEN_MAX 8u
struct import_seen {
	uint64_t value[IMPORT_SEEN_MAX]; /* the smallest, ascending */
	size_t count;
	bool has_more;
};

struct import {
	const struct import_format *format;
	const struct import_options *options;
	const char *name;
	char *error;
	bool is_scan; /* the first of two readings: nothing is written */
	bool is_text;
	struct import_text text;  /* is_text: the input */
	struct import_view *view; /* else */
	uint64_t record;	  /* not is_text: number of the record in hand, from 1 */
	char place[96];		  /* not is_text: stands in errors instead of the record, if not empty */
	struct trace_writer *writer;
	struct import_ranges ranges;
	uint64_t *base; /* [ranges.ranges], where each is written; NULL: where it is */
	uint64_t accesses;
	uint64_t time_ns; /* of the last access that had one */
	uint32_t next_agent;
	void *state; /* of the importer; NULL at first, kept from the first reading to the second */
	FILE *in;    /* below text and view */
	uint64_t device, process; /* whose events are imported; IMPORT_ANY: not known yet */
	struct import_seen devices, processes;
	bool has_device, has_process; /* an event of the device, of the process, was seen */
	struct import_told told;
	struct import_profile *profile; /* profile.c; NULL at first, kept as `state` is */
};

/* LINE_OK: the next line is in import->text.lines.text. */
enum line_status import_next(struct import *import);
/* The error becomes `NAME:LINE: ...`, `NAME: record N: ...` or `NAME: PLACE: ...`. Returns false. */
bool import_bad(struct import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whose access is the next one that names no agent. */
uint32_t import_agent(struct import *import);
/* The error becomes `out of memory`. Returns false. */
bool import_no_memory(struct import *import);
/* Rows. False: the error is filled. */
bool import_access(struct import *import, const struct source_row *access);
/* A name that cannot stand in a trace is made one that can. */
bool import_kernel(struct import *import, const char *name);
/* A name of nvprof, `f<int>(int*) [108]`, without arguments and the number of the launch. */
void import_cut_name(char *name);
bool import_sync(struct import *import);
/* Remembers that an event is of this GPU (IMPORT_DEVICE) or process (IMPORT_PROCESS). Returns whether it is one whose events are
 * imported. */
bool import_sees(struct import *import, enum import_option which, uint64_t value);
/* Is an event of this GPU (IMPORT_DEVICE) or process (IMPORT_PROCESS) wanted? If not, *wanted becomes false. Without the option
 * all events must be of one. False: they are not, the error is filled. */
bool import_wants(struct import *import, enum import_option which, uint64_t value, bool *wanted);
/* All events were seen. False: --device or --process names one that no event is of; the error is filled. */
bool import_check_chosen(struct import *import);
/* The faults so far were serviced before the next rows. */
bool import_batch(struct import *import);
/* A call that moves [address, address + bytes), widened to whole pages; bytes at least 1. */
bool import_call_prefetch(struct import *import, uint64_t address, uint64_t bytes, bool to_gpu);
/* For the user: what the input does not tell. The same text is kept once. */
void import_note(struct import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct import_format {
	const char *name, *summary;
	unsigned options;	/* enum import_option */
	const char *ranges_set; /* of allocations of UVM Smart; NULL: any */
	bool is_binary;		/* is read through import->view */
	bool has_faults_only;	/* accesses to resident pages are not in the input */
	bool has_bytes;		/* accesses may have their bytes */
	bool is_profile;	/* rows are written through profile.c */
	bool makes_ranges;	/* the importer adds them itself, at the end of the first reading */
	bool (*read)(struct import *import);
	void (*end)(struct import *import); /* frees the state; may be NULL */
	/* Is this the format of an input that begins so? NULL: nothing in the input shows it. */
	bool (*shows)(const char *head, size_t length);
};

extern const struct import_format import_addresses, import_cupti, import_damon, import_gpu_ext_chunk,
	import_gpu_ext_prefetch, import_lackey, import_nsys, import_nvprof, import_nvprof_csv,
	import_oracle_general, import_uvm_eval, import_uvm_tools, import_uvmsmart_access,
	import_uvmsmart_batches;

#endif
