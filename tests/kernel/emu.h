/* What the test programs of the emulated driver share. They run as root, inside a virtual machine, and know of the driver
 * only what uvmp_emu.h promises.
 *
 * A program is a table of cases. For each the module is loaded with the parameters of the case, a child process runs it,
 * and afterwards all must be as it was: no page in use, none of the module's own checks failed, no new taint of the
 * kernel, and the module unloads. One line a case: `ok   PROGRAM CASE` or `FAIL PROGRAM CASE: WHAT`. */
#ifndef TESTS_KERNEL_EMU_H
#define TESTS_KERNEL_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../adapters/kernel/uvmp_emu.h"

#define PAGE_BYTES  ((size_t)UVMP_EMU_PAGE_BYTES)
#define PAGE_WORDS  (PAGE_BYTES / sizeof(uint64_t))
#define MIB	    ((size_t)1 << 20)
#define BLOCK_BYTES (2u * MIB)

#define ON_CPU	  1u /* of the sets that LOOK gives */
#define ON_GPU(g) (1u << (g))

/* -- cases -------------------------------------------------------------------------------------- */

struct emu_case {
	const char *name;
	const char *parameters; /* of the module; NULL: the case loads it itself */
	void (*run)(void);
};

/* usage: PROGRAM [MODULES [OUT [CASE]]]; MODULES is the folder of uvmpolicy.ko and uvmpolicy_emu.ko, default /modules; OUT is
 * not used. The exit status of the program. */
int emu_main(int argc, char **argv, const struct emu_case *cases, size_t count);

/* Ends the case as failed, from any of its processes and threads; the first to say why is heard. */
_Noreturn void emu_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define EXPECT(condition, ...) ((condition) ? (void)0 : emu_fail(__FILE__, __LINE__, __VA_ARGS__))

/* A child that runs `run`; it has to come to its end by itself, or (killed) by SIGKILL. */
pid_t emu_start(void (*run)(void *argument), void *argument);
void emu_finish(pid_t child);
void emu_finish_killed(pid_t child);

/* -- the module --------------------------------------------------------------------------------- */

/* 0 or negative errno. Load: uvmpolicy too, unless it is there. */
int emu_load(const char *parameters);
int emu_unload(void);

/* Contents of a file of uvmp_emu/ in debugfs, which the caller frees. Write: 0 or negative errno. */
char *emu_debugfs_read(const char *name);
int emu_debugfs_write(const char *name, const char *text);

/* -- the device --------------------------------------------------------------------------------- */

int emu_open(void);
uint64_t *emu_map(int fd, size_t bytes); /* to read and write */
/* ... at a multiple of 2 MiB plus `offset`. */
uint64_t *emu_map_at(int fd, size_t bytes, size_t offset);
void emu_unmap(void *at, size_t bytes);
struct uvmp_emu_stats emu_stats(unsigned gpu); /* on a descriptor of its own */
/* 0 or negative errno. */
int emu_ioctl(int fd, unsigned long request, void *argument);
int emu_advise(int fd, const void *at, size_t bytes, enum uvmp_emu_advice advice, unsigned processor);
int emu_prefetch(int fd, const void *at, size_t bytes, unsigned processor);
int emu_look(int fd, const void *at, size_t bytes, uint8_t *where, uint32_t *crc);
uint32_t emu_crc(const void *bytes, size_t count); /* CRC-32 of IEEE 802.3 */
/* The case fails unless every page is held by exactly this set; and unless the contents have this CRC. */
void emu_expect_where(int fd, const void *at, size_t bytes, unsigned set, const char *when);
void emu_expect_crc(int fd, const void *at, size_t bytes, uint32_t crc, const char *when);
/* Waits (10 s at most) until every page is held by the set. */
void emu_await_where(int fd, const void *at, size_t bytes, unsigned set, const char *when);

/* One access by one warp; the case fails if it is not done. Try: the warp's status instead. */
uint64_t emu_gpu_read(int fd, unsigned gpu, const uint64_t *at);
void emu_gpu_write(int fd, unsigned gpu, uint64_t *at, uint64_t value);
uint64_t emu_gpu_add(int fd, unsigned gpu, uint64_t *at, uint64_t value);
int emu_gpu_try(int fd, unsigned gpu, enum uvmp_emu_kind kind, const void *at, uint64_t *value);

/* A submission: accesses, dealt out to warps one share after the other. */
struct emu_job {
	struct uvmp_emu_access *access;
	size_t accesses, room;
	struct uvmp_emu_warp *warp;
	uint32_t warps, failed;
};
void emu_job_add(struct emu_job *job, enum uvmp_emu_kind kind, const void *at, uint64_t value);
/* Submits all, `share` accesses a warp, warps on SMs 0, 1, ... 0 or negative errno. */
int emu_job_submit(struct emu_job *job, int fd, unsigned gpu, uint32_t share);
/* ... and the case fails unless all were done. */
void emu_job_run(struct emu_job *job, int fd, unsigned gpu, uint32_t share);
/* ... but what is cancelled goes again, from where it was cancelled: where no memory is an answer. */
void emu_job_insist(struct emu_job *job, int fd, unsigned gpu, uint32_t share);
void emu_job_clear(struct emu_job *job); /* to be filled again */
void emu_job_free(struct emu_job *job);

/* -- small things ------------------------------------------------------------------------------- */

uint64_t emu_random(uint64_t *state);
uint64_t emu_value(size_t index, uint64_t round); /* tells words apart */
void emu_sleep_ms(unsigned ms);
uint64_t emu_now_ms(void);
/* Reads, or writes what was read: the number of the signal that came of it, 0: none. Not for several threads. */
int emu_touch(volatile uint64_t *at, bool is_write);
/* The number behind NAME in lines of NAME VALUE (or NAME: VALUE) of a file; UINT64_MAX: not there. */
uint64_t emu_field(const char *text, const char *name);
/* Contents of a file as text, which the caller frees; NULL: cannot be read. */
char *emu_file(const char *path);
int emu_file_write(const char *path, const char *text);

#endif
