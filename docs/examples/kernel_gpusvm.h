/* Stand-ins for what kernel_gpusvm.c needs of Linux and its drm_gpusvm and drm_pagemap layers, so that it compiles and runs
 * here. In a driver this file does not exist: <drm/drm_gpusvm.h> and <drm/drm_pagemap.h> come instead of the first part. Names
 * are the kernel's; fields that are not used are left out. The layer changes: drm_gpusvm_range_get_pages and _pages_valid
 * took the range up to 6.19 or so, and take the driver's struct drm_gpusvm_pages since; the owner of device-private pages was
 * an argument of drm_gpusvm_init, and is in struct drm_gpusvm_ctx since autumn 2025. */
#ifndef KERNEL_GPUSVM_H
#define KERNEL_GPUSVM_H

#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>

/* -- of Linux -- */
struct mm_struct;
struct drm_gpusvm {
	struct mm_struct *mm;
};
struct drm_gpusvm_range;
struct drm_pagemap;
struct drm_gpusvm_ctx {
	void *device_private_page_owner;
	unsigned long timeslice_ms;
	unsigned int devmem_possible : 1;
};
struct drm_gpusvm_range *drm_gpusvm_range_find_or_insert(struct drm_gpusvm *gpusvm, unsigned long fault_addr,
							 unsigned long gpuva_start, unsigned long gpuva_end,
							 const struct drm_gpusvm_ctx *ctx);
unsigned long drm_gpusvm_range_start(struct drm_gpusvm_range *range);
unsigned long drm_gpusvm_range_end(struct drm_gpusvm_range *range);
int drm_gpusvm_range_get_pages(struct drm_gpusvm *gpusvm, struct drm_gpusvm_range *range, const struct drm_gpusvm_ctx *ctx);
bool drm_gpusvm_range_pages_valid(struct drm_gpusvm *gpusvm, struct drm_gpusvm_range *range);
void drm_gpusvm_notifier_lock(struct drm_gpusvm *gpusvm); /* shared */
void drm_gpusvm_notifier_unlock(struct drm_gpusvm *gpusvm);
int drm_pagemap_populate_mm(struct drm_pagemap *dpagemap, unsigned long start, unsigned long end, struct mm_struct *mm,
			    unsigned long timeslice_ms);
bool IS_ERR(const void *pointer);
uint64_t ktime_get_ns(void);
#define SVM_AGAIN (-11) /* EAGAIN */
#define SVM_FAULT (-14) /* EFAULT */

/* -- of the driver -- */
struct svm_block;
struct svm_block *svm_block_get(unsigned long address); /* of that VABlock: from an xarray, made if need be; NULL: no memory */
bool svm_in_device_memory(struct drm_gpusvm_range *range); /* flags.has_devmem_pages */
int svm_bind(struct drm_gpusvm_range *range);		    /* writes the GPU's page tables; notifier lock held */

/* -- what kernel_gpusvm.c gives the driver -- */
struct svm;
int svm_fault(struct svm *svm, unsigned long address, unsigned long start, unsigned long end);
void svm_invalidate(struct svm_block *block, unsigned long start, unsigned long end);
enum uvmp_status svm_victim(struct uvmp_evict *order, uint32_t *unit);
void svm_used(struct uvmp_evict *order, uint32_t unit);

#endif
