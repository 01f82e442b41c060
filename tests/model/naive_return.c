#include "naive_return.h"

#include <string.h>

uint64_t naive_return_cost(uint64_t bytes)
{
	return bytes + 12 * 4096;
}

void naive_return_add(struct naive_return *m, uint32_t parts, uint64_t accesses)
{
	for (unsigned i = 0; i < UVMP_REMOTE_PARTS; i++)
		m->is_used[i] = m->is_used[i] || (parts >> i & 1) != 0;
	while (accesses % 128 != 0)
		accesses++;
	m->remote_bytes += accesses * 128;
}

bool naive_return_pays(const struct naive_return *m, uint64_t bytes)
{
	uint64_t limit = naive_return_cost(bytes);

	if (bytes == 0)
		return false;
	return m->remote_bytes * 2 >= limit;
}

void naive_return_moved(struct naive_return *m)
{
	memset(m, 0, sizeof(*m));
}

static bool is_equal(const struct naive_return *m, const struct uvmp_remote_use *use)
{
	for (unsigned i = 0; i < UVMP_REMOTE_PARTS; i++)
		if (m->is_used[i] != ((use->parts >> i & 1) != 0))
			return false;
	for (uint32_t bytes = 0; bytes <= 2u << 20; bytes += 4096)
		if (uvmp_remote_pays(use, bytes) != naive_return_pays(m, bytes))
			return false;
	return true;
}

bool naive_return_compare(uint32_t (*draw)(void *source, uint32_t bound), bool (*is_over)(void *source), void *source)
{
	struct naive_return m = {{false}, 0};
	struct uvmp_remote_use use = {0};

	while (!is_over(source)) {
		if (draw(source, 8) == 0) {
			naive_return_moved(&m);
			uvmp_remote_moved(&use);
		} else {
			uint32_t parts = draw(source, 1u << UVMP_REMOTE_PARTS), accesses = draw(source, 65536);

			if (draw(source, 2) == 0)
				accesses %= 600;
			naive_return_add(&m, parts, accesses);
			uvmp_remote_add(&use, parts, accesses);
		}
		if (!is_equal(&m, &use))
			return false;
	}
	return true;
}

static void naive_start_age(struct naive_start *m)
{
	if (m->mapped >= (uint64_t)4 << 30 || m->returned >= (uint64_t)4 << 30) {
		m->mapped = m->mapped / 8192 * 4096;
		m->returned = m->returned / 8192 * 4096;
	}
}

bool naive_start_begins(struct naive_start *m, uint64_t bytes)
{
	if (m->moving > 0) {
		m->moving--;
		return false;
	}
	if (m->returned >= m->mapped / 2 + (2u << 20)) {
		*m = (struct naive_start){0, 0, 64 - 1};
		return false;
	}
	naive_start_age(m);
	m->mapped += bytes / 4096 * 4096;
	return true;
}

bool naive_start_compare(uint32_t (*draw)(void *source, uint32_t bound), bool (*is_over)(void *source), void *source)
{
	struct naive_start m = {0, 0, 0};
	struct uvmp_remote_start start = {0, 0, 0};
	uint32_t most = draw(source, 3) == 0 ? UINT32_MAX : 2u << 20;

	while (!is_over(source)) {
		uint32_t bytes = draw(source, most) + 1;

		if (draw(source, 2) == 0) {
			naive_start_age(&m);
			m.returned += bytes / 4096 * 4096;
			uvmp_remote_returned(&start, bytes);
		} else if (uvmp_remote_begins(&start, bytes) != naive_start_begins(&m, bytes)) {
			return false;
		}
	}
	return true;
}
