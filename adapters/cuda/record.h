/* record.h: what a profiler reports of unified memory on a real GPU, as rows of the trace format (docs/uvmsim.md).
 *
 * Events may arrive in any order; they are kept in memory and written in the order of their times. No function needs CUDA. */
#ifndef UVMP_CUDA_RECORD_H
#define UVMP_CUDA_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct cuda_record;

/* NULL: out of memory. */
struct cuda_record *cuda_record_open(void);
void cuda_record_close(struct cuda_record *record);

/* Each adds an event; times in nanoseconds of one clock. An event for which there is no memory is lost and counted. */
void cuda_record_range(struct cuda_record *record, uint64_t time_ns, uint64_t base, uint64_t bytes);
void cuda_record_free(struct cuda_record *record, uint64_t time_ns, uint64_t base);
/* `name` is copied. */
void cuda_record_kernel(struct cuda_record *record, uint64_t start_ns, uint64_t end_ns, const char *name);
/* Faults of the GPU that the driver serviced together have overlapping times. `access`: r, w, a or p. */
void cuda_record_gpu_fault(struct cuda_record *record, uint64_t start_ns, uint64_t end_ns, uint64_t address, char access);
void cuda_record_cpu_fault(struct cuda_record *record, uint64_t time_ns, uint64_t address, char access);
/* Events that the profiler says it has dropped. */
void cuda_record_dropped(struct cuda_record *record, uint64_t count);

/* Writes the trace, in O(n log n) of the events. Memory that faults before an allocation announces it was allocated before the
 * recorder saw that: the 2 MiB around such faults are ranges at the head of the trace. False: out of memory, or the stream has
 * an error. */
bool cuda_record_write(struct cuda_record *record, FILE *out);

#endif
