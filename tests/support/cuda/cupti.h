/* A stub of the part of CUPTI that adapters/cuda/cupti.c uses, of our own: tests drive it without CUDA. The names are those of
 * the interface; the numbers are ours. */
#ifndef UVMP_TEST_CUPTI_H
#define UVMP_TEST_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_API_VERSION 130000
#define CUPTIAPI

typedef void *CUcontext;
typedef enum { CUPTI_SUCCESS = 0, CUPTI_ERROR_MAX_LIMIT_REACHED = 12, CUPTI_ERROR_NOT_SUPPORTED = 27 } CUptiResult;

typedef enum {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER = 22,
	CUPTI_ACTIVITY_KIND_MEMORY2 = 49
} CUpti_ActivityKind;
typedef enum {
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD = 1,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT = 3,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT = 4
} CUpti_ActivityUnifiedMemoryCounterKind;
typedef enum { CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES = 2 } CUpti_ActivityUnifiedMemoryCounterScope;
enum {
	CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN = 0,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC,
	CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH
};
typedef enum {
	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1,
	CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
} CUpti_ActivityMemoryOperationType;
typedef enum { CUPTI_ACTIVITY_MEMORY_KIND_DEVICE = 3, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED = 6 } CUpti_ActivityMemoryKind;
enum { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 };

typedef struct {
	CUpti_ActivityKind kind;
} CUpti_Activity;
typedef struct {
	CUpti_ActivityKind kind;
	CUpti_ActivityUnifiedMemoryCounterKind counterKind;
	uint64_t value, start, end, address;
	uint32_t srcId, dstId, streamId, processId, flags, pad;
	uint64_t processors[5];
} CUpti_ActivityUnifiedMemoryCounter3;
typedef struct {
	CUpti_ActivityKind kind;
	CUpti_ActivityMemoryOperationType memoryOperationType;
	CUpti_ActivityMemoryKind memoryKind;
	uint64_t address, bytes, timestamp;
} CUpti_ActivityMemory4;
typedef struct {
	CUpti_ActivityKind kind;
	uint64_t start, end;
	const char *name;
} CUpti_ActivityKernel10;
typedef struct {
	CUpti_ActivityUnifiedMemoryCounterScope scope;
	CUpti_ActivityUnifiedMemoryCounterKind kind;
	uint32_t deviceId, enable;
} CUpti_ActivityUnifiedMemoryCounterConfig;

typedef void(CUPTIAPI *CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *maxNumRecords);
typedef void(CUPTIAPI *CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t streamId, uint8_t *buffer, size_t size,
							  size_t validSize);

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityFlushAll(uint32_t flag);
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes, CUpti_Activity **record);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *dropped);
CUptiResult cuptiGetResultString(CUptiResult result, const char **str);

#endif
