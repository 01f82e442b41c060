/* Just enough of the kernel's <linux/types.h> to compile the headers and the core as a module would:
 * 64-bit types are long long there, and nothing of <stdint.h> beyond the types exists. */
#ifndef STUB_LINUX_TYPES_H
#define STUB_LINUX_TYPES_H

/* Two words that every part of a kernel has taken. */
#define current (*(struct task_struct **)0)
#define jiffies (*(volatile unsigned long *)0)

typedef _Bool bool;
enum { false = 0, true = 1 };

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef __SIZE_TYPE__ size_t;
typedef unsigned long uintptr_t;

#endif
