/* A program under the recorder, with a stub of CUPTI: plays the records that its arguments describe, in their order.
 *
 *     memory ADDRESS BYTES TIME | device ADDRESS BYTES TIME | release ADDRESS TIME | kernel NAME START END
 *     fault START END ADDRESS r|w|a|p|? | cpu TIME ADDRESS r|w | copy START END ADDRESS | drop COUNT
 *     refuse counters|allocations    what CUPTI says is not supported; stands first
 *     late                           stands first: a fault is delivered after the recorder has ended
 *     fork                           a child ends before the next record; its exit status must be 0
 *     many COUNT                     COUNT times: an allocation of 8 KiB, a fault in each page, its release */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cupti.h"

__attribute__((visibility("default"))) int InitializeInjection(void);

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static bool is_enabled[64], is_refused[64], has_fault_counter, has_cpu_counter;
static size_t dropped;
static uint8_t *buffer;
static size_t room, used, most_used = 200; /* small buffers, so that there are several */

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc ask, CUpti_BuffersCallbackCompleteFunc give)
{
	request = ask;
	complete = give;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count)
{
	if (is_refused[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER])
		return CUPTI_ERROR_NOT_SUPPORTED;
	for (uint32_t i = 0; i < count; i++) {
		has_fault_counter |= config[i].kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT && config[i].enable;
		has_cpu_counter |= config[i].kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT && config[i].enable;
	}
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (is_refused[kind])
		return CUPTI_ERROR_NOT_SUPPORTED;
	is_enabled[kind] = true;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	*str = result == CUPTI_SUCCESS ? "success" : "not supported";
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	*count = dropped;
	dropped = 0;
	return CUPTI_SUCCESS;
}

static size_t bytes_of(const CUpti_Activity *record)
{
	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(CUpti_ActivityMemory4);
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(CUpti_ActivityKernel10);
	default:
		return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
	}
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *from, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + bytes_of(*record) : from;

	if (next >= from + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	if (buffer)
		complete(NULL, 0, buffer, room, used);
	buffer = NULL;
	return CUPTI_SUCCESS;
}

/* Delivers a record as CUPTI does: into a buffer of the recorder, which is handed back when it is full. */
static void deliver(const void *record, size_t bytes, CUpti_ActivityKind kind)
{
	size_t most;

	if (!is_enabled[kind])
		return;
	if (buffer && (used + bytes > room || used > most_used))
		cuptiActivityFlushAll(0);
	if (!buffer) {
		request(&buffer, &room, &most);
		used = 0;
	}
	memcpy(buffer + used, record, bytes);
	used += bytes;
}

static uint64_t number(const char *text) { return strtoull(text, NULL, 0); }

static uint32_t access_of(char access)
{
	const char *at = strchr("?rwap", access);

	return at ? (uint32_t)(at - "?rwap") : 0;
}

static void counter(CUpti_ActivityUnifiedMemoryCounterKind kind, const char *start, const char *end, const char *address,
		    char access)
{
	CUpti_ActivityUnifiedMemoryCounter3 record = {.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
						      .counterKind = kind,
						      .value = 1,
						      .start = number(start),
						      .end = number(end),
						      .address = number(address),
						      .flags = access_of(access)};

	if ((kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT && !has_fault_counter) ||
	    (kind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT && !has_cpu_counter))
		return;
	deliver(&record, sizeof(record), record.kind);
}

static void memory(CUpti_ActivityMemoryOperationType type, CUpti_ActivityMemoryKind kind, uint64_t address, uint64_t bytes,
		   uint64_t time)
{
	CUpti_ActivityMemory4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
					.memoryOperationType = type,
					.memoryKind = kind,
					.address = address,
					.bytes = bytes,
					.timestamp = time};

	deliver(&record, sizeof(record), record.kind);
}

static void fork_child(void)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		exit(3);
}

/* Allocations that follow each other in memory and in time. */
static void play_many(uint64_t count)
{
	char start[24], address[24];

	most_used = SIZE_MAX;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t base = UINT64_C(0x7f0000000000) + i * 8192;

		memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, base, 8192, 10 * i);
		for (uint64_t page = 0; page < 2; page++) {
			snprintf(start, sizeof(start), "%llu", (unsigned long long)(10 * i + page + 1));
			snprintf(address, sizeof(address), "%llu", (unsigned long long)(base + page * 4096));
			counter(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, start, start, address, 'r');
		}
		memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, base, 0, 10 * i + 5);
	}
}

/* Plays one record; returns how many arguments it has. */
static int play(char **word)
{
	if (strcmp(word[0], "memory") == 0 || strcmp(word[0], "device") == 0) {
		memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
		       word[0][0] == 'm' ? CUPTI_ACTIVITY_MEMORY_KIND_MANAGED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, number(word[1]),
		       number(word[2]), number(word[3]));
		return 4;
	}
	if (strcmp(word[0], "release") == 0) {
		memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, number(word[1]), 0,
		       number(word[2]));
		return 3;
	}
	if (strcmp(word[0], "kernel") == 0) {
		CUpti_ActivityKernel10 record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						 .name = word[1],
						 .start = number(word[2]),
						 .end = number(word[3])};

		deliver(&record, sizeof(record), record.kind);
		return 4;
	}
	if (strcmp(word[0], "fault") == 0) {
		counter(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, word[1], word[2], word[3], word[4][0]);
		return 5;
	}
	if (strcmp(word[0], "cpu") == 0) {
		counter(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, word[1], word[1], word[2], word[3][0]);
		return 4;
	}
	if (strcmp(word[0], "copy") == 0) {
		counter(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, word[1], word[2], word[3], '?');
		return 4;
	}
	if (strcmp(word[0], "fork") == 0) {
		fork_child();
		return 1;
	}
	if (strcmp(word[0], "many") == 0)
		play_many(number(word[1]));
	if (strcmp(word[0], "drop") == 0)
		dropped = number(word[1]);
	return 2;
}

/* Runs behind the recorder's own end, as it was registered before. */
static void deliver_late(void)
{
	counter(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, "1", "2", "4096", 'r');
	cuptiActivityFlushAll(0);
}

int main(int argc, char **argv)
{
	int at = 1;

	if (argc > 1 && strcmp(argv[1], "late") == 0) {
		atexit(deliver_late);
		at = 2;
	}

	if (argc > 2 && strcmp(argv[1], "refuse") == 0) {
		is_refused[argv[2][0] == 'c' ? CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER : CUPTI_ACTIVITY_KIND_MEMORY2] = true;
		at = 3;
	}
	if (InitializeInjection() != 1)
		return 1;
	while (at < argc)
		at += play(argv + at);
	return 0;
}
