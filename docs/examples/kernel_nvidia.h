/* Stand-ins for what kernel_nvidia.c needs of NVIDIA's open UVM driver and of the kernel, so that it compiles and runs
 * here. In the driver this file does not exist: kernel_nvidia.c includes uvm_va_block_types.h and uvm_hal_types.h then.
 * Names, and fields that are used, are the driver's; everything else is left out. */
#ifndef KERNEL_NVIDIA_H
#define KERNEL_NVIDIA_H

#include <uvmpolicy/base.h>

#ifndef BITS_PER_LONG
#define BITS_PER_LONG (8 * __SIZEOF_LONG__)
#endif
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096u
#endif

typedef uint64_t NvU64;
typedef uint32_t NvU32;
typedef uint16_t NvU16;

/* -- VA blocks -- */
#define UVM_VA_BLOCK_SIZE      0x200000u
#define PAGES_PER_UVM_VA_BLOCK (UVM_VA_BLOCK_SIZE / PAGE_SIZE)

/* A bitmap of the kernel: bit p is bit p % BITS_PER_LONG of word p / BITS_PER_LONG. */
typedef struct {
	unsigned long bitmap[(PAGES_PER_UVM_VA_BLOCK + BITS_PER_LONG - 1) / BITS_PER_LONG];
} uvm_page_mask_t;

typedef struct {
	NvU16 first, end;
} uvm_va_block_region_t;

/* -- fault buffer entries -- */
typedef enum { UVM_APERTURE_PEER_0 = 0, UVM_APERTURE_PEER_7 = 7, UVM_APERTURE_SYS = 9, UVM_APERTURE_VID = 10 } uvm_aperture_t;

typedef enum {
	UVM_FAULT_ACCESS_TYPE_PREFETCH = 0,
	UVM_FAULT_ACCESS_TYPE_READ,
	UVM_FAULT_ACCESS_TYPE_WRITE,
	UVM_FAULT_ACCESS_TYPE_ATOMIC_WEAK,
	UVM_FAULT_ACCESS_TYPE_ATOMIC_STRONG
} uvm_fault_access_type_t;

typedef enum {
	UVM_FAULT_TYPE_INVALID_PDE = 0,
	UVM_FAULT_TYPE_INVALID_PTE,
	UVM_FAULT_TYPE_ATOMIC,
	UVM_FAULT_TYPE_WRITE,
	UVM_FAULT_TYPE_READ,
	UVM_FAULT_TYPE_FATAL
} uvm_fault_type_t;

typedef struct {
	NvU64 fault_address;
	NvU64 timestamp;
	struct {
		NvU64 address;
		uvm_aperture_t aperture;
	} instance_ptr;
	struct {
		NvU16 utlb_id; /* counted over the GPU, 0 for HUB clients */
		unsigned char ve_id;
	} fault_source;
	uvm_fault_type_t fault_type;
	uvm_fault_access_type_t fault_access_type;
} uvm_fault_buffer_entry_t;

#endif
