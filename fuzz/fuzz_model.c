/* Any bytes as a model file, read as a GPU's and as a link's: it is refused with one line that names file and
 * line, or the model can be used: what is divided by is not 0, and no transfer takes less time than a smaller
 * one. The files that an input includes are those that are built in; inputs that name others by a path, which
 * might be any device, are left out. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

/* `FILE:LINE: what`, or `FILE: what` of a file that cannot be opened. */
static void check_error(const char *error)
{
	require(memchr(error, '\0', MODEL_ERROR_MAX) != NULL);
	require(strchr(error, '\n') == NULL && strstr(error, ": ") != NULL);
}

static void check_link(const struct model_link *link)
{
	for (int way = 0; way < MODEL_DIRECTIONS; way++) {
		uint64_t before = 0;

		require(link->has_formula ? pcie_is_valid(&link->formula) : link->points[way] >= 1);
		require(link->points[way] <= MODEL_POINTS_MAX);
		require(link->request_bytes[way] <= 1000000);
		require(model_link_mb_s(link, (enum model_direction)way) != 0);
		require(model_link_time(link, (enum model_direction)way, 0) == 0);
		for (unsigned shift = 0; shift < 40; shift++) {
			uint64_t bytes = (uint64_t)1 << shift;
			uint64_t ns = model_link_time(link, (enum model_direction)way, bytes);

			require(ns >= before);
			before = model_link_time(link, (enum model_direction)way, bytes + bytes / 2);
			require(before >= ns);
		}
	}
}

static void check_gpu(const struct model *model)
{
	require(model->sms != 0 && model->warps_per_sm != 0 && model->blocks_per_sm != 0);
	require(model->sms_per_utlb != 0 && model->utlb_entries != 0 && model->utlb_faults != 0);
	require(model->l2_tlb_entries != 0 && model->tlb_entry_bytes >= 4096);
	require((model->tlb_entry_bytes & (model->tlb_entry_bytes - 1)) == 0);
	require(model->clock_mhz != 0 && model->gflops != 0 && model->memory_mb_s != 0);
	require(model->memory_bytes >= 2097152 && model->zero_mb_s != 0 && model->alloc_roots != 0);
	require(model->page_bytes == 4096 || model->page_bytes == 65536);
	require(model->fault_entries >= 32);
	check_link(&model->link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], error[MODEL_ERROR_MAX] = "";
	static struct model model;
	struct model_link link;
	int fd;

	if (size != 0 && memchr(data, '/', size) != NULL)
		return 0;
	fd = memfd_create("model", 0);
	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (model_open(path, NULL, &model, error))
		check_gpu(&model);
	else
		check_error(error);
	if (model_open_link(path, &link, error))
		check_link(&link);
	else
		check_error(error);
	close(fd);
	return 0;
}
