/* uvmp_nv_seams.h: seams inside files of the driver. uvmp_nv.Kbuild has the compiler include this file before
 * each of three files, and defines which. If the driver renames what a macro names, its file does not compile. */
#ifdef UVMP_NV_SEAM_PMM
/* uvm_pmm_gpu.c. Its static function get_first_allocated_chunk chooses the root chunk to evict, under list_lock,
 * where no root chunk is free. The definition keeps its body under another name; a call becomes a call of
 * uvmp_nv_victim with the driver's choice and the driver's test of a chunk. The first word of the argument tells
 * a definition from a call. */
#include "uvmp_nv.h"
#define get_first_allocated_chunk(argument)	UVMP_NV_FIRST_##argument)
#define UVMP_NV_FIRST_uvm_pmm_gpu_t		uvmp_nv_driver_first(uvm_pmm_gpu_t
#define UVMP_NV_FIRST_pmm			uvmp_nv_victim(pmm, uvmp_nv_driver_first(pmm), chunk_is_evictable
#endif

#ifdef UVMP_NV_SEAM_FAULTS
/* uvm_gpu_replayable_faults.c, which sorts a batch twice in preprocess_fault_batch, where parent_gpu is an
 * argument. The name of the comparison says which sort it is. */
#include "uvmp_nv.h"
#define sort(base, count, bytes, compare, swap)                                                              \
	uvmp_nv_sort(parent_gpu, base, count, UVMP_NV_##compare, compare)
#define UVMP_NV_cmp_sort_fault_entry_by_instance_ptr				UVMP_NV_BY_INSTANCE
#define UVMP_NV_cmp_sort_fault_entry_by_va_space_gpu_address_access_type	UVMP_NV_BY_PAGE
#endif

#ifdef UVMP_NV_SEAM_CLOCK
/* uvm_perf_thrashing.c, which reads the clock three times, each time where va_space is a local variable. In
 * shadow mode both detectors must see the same times. */
#include "uvmp_nv.h"
#define NV_GETTIME() uvmp_nv_driver_clock(va_space)
#endif
