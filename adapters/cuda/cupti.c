/* The recorder of unified memory on a real GPU: a library that the CUDA driver loads into a program.
 *
 *     CUDA_INJECTION64_PATH=build/libuvmp-cupti.so UVMP_CUDA_TRACE=program.trace program ...
 *
 * CUPTI reports faults, allocations and kernels; record.c makes a trace of them when the program ends. What is missing of CUPTI
 * is reported in one line on standard error, and the program runs on. */
#include <cupti.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "output.h"
#include "output_conflicts.h"
#include "record.h"
#include "say.h"

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityUnifiedMemoryCounter3 counter_record;
typedef CUpti_ActivityMemory4 memory_record;
typedef CUpti_ActivityKernel10 kernel_record;
#elif CUPTI_API_VERSION >= 18
typedef CUpti_ActivityUnifiedMemoryCounter2 counter_record;
typedef CUpti_ActivityMemory3 memory_record;
typedef CUpti_ActivityKernel9 kernel_record;
#else
#error "CUPTI of CUDA 12 or later is needed"
#endif

#define VARIABLE     "UVMP_CUDA_TRACE"
#define BUFFER_BYTES ((size_t)4 << 20)
#define BUFFER_ALIGN 8u

/* CUPTI may deliver buffers from threads of its own, also after the trace is written. The lock protects `record`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_record *record; /* NULL: the trace is written */
static pid_t process;		   /* the process that the recorder records */

__attribute__((visibility("default"))) int InitializeInjection(void);

/* The path as given; each %p becomes the number of the process. False: it is too long. */
static bool trace_path(char path[PATH_MAX])
{
	const char *given = getenv(VARIABLE);
	size_t length = 0;

	for (given = given && *given != '\0' ? given : "uvmp-cuda.trace"; *given != '\0' && length < PATH_MAX; given++) {
		if (given[0] == '%' && given[1] == 'p') {
			length += (size_t)snprintf(path + length, PATH_MAX - length, "%ld", (long)process);
			given++;
		} else {
			path[length++] = *given;
		}
	}
	if (length >= PATH_MAX)
		return false;
	path[length] = '\0';
	return true;
}

static char access_of(uint32_t flags)
{
	switch (flags) {
	case CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE:
		return 'w';
	case CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC:
		return 'a';
	case CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH:
		return 'p';
	default: /* also accesses of which CUPTI does not know the kind */
		return 'r';
	}
}

static void take_counter(const counter_record *counter)
{
	if (counter->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT)
		cuda_record_gpu_fault(record, counter->start, counter->end, counter->address,
				      access_of(counter->flags));
	else if (counter->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT)
		cuda_record_cpu_fault(record, counter->start, counter->address,
				      counter->flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE ? 'w' : 'r');
}

static void take_memory(const memory_record *memory)
{
	if (memory->memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_MANAGED)
		return;
	if (memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION)
		cuda_record_range(record, memory->timestamp, memory->address, memory->bytes);
	else if (memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE)
		cuda_record_free(record, memory->timestamp, memory->address);
}

static void take_record(const CUpti_Activity *activity)
{
	if (activity->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) {
		take_counter((const counter_record *)(const void *)activity);
	} else if (activity->kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
		take_memory((const memory_record *)(const void *)activity);
	} else if (activity->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		const kernel_record *kernel = (const kernel_record *)(const void *)activity;

		cuda_record_kernel(record, kernel->start, kernel->end, kernel->name);
	}
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*records = 0; /* as many as fit */
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	CUpti_Activity *activity = NULL;
	size_t dropped = 0;

	(void)bytes;
	pthread_mutex_lock(&lock);
	while (record && valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS)
		take_record(activity);
	if (record && cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
		cuda_record_dropped(record, dropped);
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void write_trace(void)
{
	char path[PATH_MAX];
	struct output *output;
	FILE *out;
	bool is_good;

	if (!trace_path(path)) {
		say_error(VARIABLE ": the path is too long");
		return;
	}
	output_protect("the program", "/proc/self/exe");
	output = output_open(VARIABLE, path, &out);
	if (!output)
		return;
	is_good = cuda_record_write(record, out) || ferror(out); /* output_close reports an error of the stream */
	if (!is_good)
		say_error(VARIABLE " %s: out of memory", path);
	output_close(output, is_good ? OUTPUT_COMPLETE : OUTPUT_DISCARD);
}

static void finish(void)
{
	if (getpid() != process) /* a child that was forked has this function, too, but the trace is its parent's */
		return;
	(void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	pthread_mutex_lock(&lock);
	write_trace();
	cuda_record_close(record);
	record = NULL;
	pthread_mutex_unlock(&lock);
}

static bool enable(CUptiResult status, const char *what)
{
	const char *text = "unknown error";

	if (status == CUPTI_SUCCESS)
		return true;
	(void)cuptiGetResultString(status, &text);
	say_error("%s: %s", what, text);
	return false;
}

/* The faults of the GPU and of the CPU, of all processes' devices that this process uses. */
static CUptiResult configure_counters(void)
{
	CUpti_ActivityUnifiedMemoryCounterConfig config[] = {
		{.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
		 .kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
		 .enable = 1},
		{.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES,
		 .kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
		 .enable = 1},
	};

	return cuptiActivityConfigureUnifiedMemoryCounter(config, sizeof(config) / sizeof(config[0]));
}

/* The CUDA driver calls this before the program's first call of CUDA. Returns 1: the program goes on. */
int InitializeInjection(void)
{
	say_program("uvmp-cupti");
	record = cuda_record_open();
	process = getpid();
	if (!record) {
		say_error("out of memory");
		return 1;
	}
	if (enable(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "callbacks") &&
	    enable(configure_counters(), "counters of unified memory") &&
	    enable(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER), "faults")) {
		(void)enable(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2), "allocations");
		(void)enable(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels");
		atexit(finish);
	}
	return 1;
}
