/* The limits of this process; machine_memory.h. */
#include "machine_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

/* The limit in a file of a memory cgroup; UINT64_MAX: none. */
static uint64_t limit_in(const char *directory)
{
	char name[PATH_MAX + 64];
	uint64_t bytes = UINT64_MAX;
	FILE *file;

	snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.max", directory);
	file = fopen(name, "re");
	if (!file)
		return UINT64_MAX;
	if (fscanf(file, "%" SCNu64, &bytes) != 1) /* "max" */
		bytes = UINT64_MAX;
	fclose(file);
	return bytes;
}

/* The least limit of the process's memory cgroup and those above it. */
static uint64_t cgroup_bytes(void)
{
	char line[PATH_MAX] = "", *path = NULL;
	FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = limit_in("");

	while (file && !path && fgets(line, sizeof(line), file))
		path = strncmp(line, "0::/", 4) == 0 ? line + 3 : NULL;
	if (file)
		fclose(file);
	if (path)
		path[strcspn(path, "\n")] = '\0';
	while (path && path[1] != '\0') {
		uint64_t bytes = limit_in(path);

		least = bytes < least ? bytes : least;
		*strrchr(path, '/') = '\0';
		if (path[0] == '\0')
			break;
	}
	return least;
}

/* RAM and swap space, less what cgroups do not allow. */
static uint64_t allowed(const struct sysinfo *info, uint64_t amount)
{
	uint64_t bytes = amount * info->mem_unit, most = cgroup_bytes();

	return most < bytes ? most : bytes;
}

uint64_t machine_ram_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? allowed(&info, info.totalram) : 0;
}

uint64_t machine_memory_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? allowed(&info, (uint64_t)info.totalram + info.totalswap) : UINT64_MAX;
}

uint64_t machine_address_bytes(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}
