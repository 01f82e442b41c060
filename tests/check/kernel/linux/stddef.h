/* Just enough of the kernel's <linux/stddef.h>. */
#ifndef STUB_LINUX_STDDEF_H
#define STUB_LINUX_STDDEF_H

#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)

#endif
