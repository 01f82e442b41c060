/* Kind "evict": the memory manager over scripts of allocations, marks and frees.
 *
 *   case NAME roots=8 order=6 zero=1
 *   alloc id=0 size=2M block=0 evict=1   => ok root=0 page=0 victim=none blocks=- gone=-
 *   unpin id=0                           => ok
 *   dump                                 => unused=- discarded=- used=0 free_nonzero=- free_zero=1,2 ...
 *
 * An `alloc` with evict=1 that finds no memory goes through one whole eviction, as the driver's allocator
 * does.
 */
#include <stdlib.h>
#include <string.h>

#include "vec_kind.h"
#include "uvmpolicy/pmm.h"

/* 256 GiB of GPU memory. */
#define SCRIPT_ROOTS_MAX (1u << 17)
#define ROOT_PAGES       512u
#define ID_NONE          UINT32_MAX

static const char *const size_names[] = {"4K", "64K", "2M", NULL};

/* What an id stands for. */
struct handle {
	struct uvmp_chunk chunk;
	uint32_t block;
	bool is_alive;
};

struct script {
	struct uvmp_pmm *pmm;
	void *memory;
	struct handle *handle; /* by id */
	uint32_t handles, capacity;
};

/* What an eviction drove out. */
struct departed {
	uint32_t victim, blocks, ids;
	uint32_t block[ROOT_PAGES];
	uint32_t id[ROOT_PAGES];
};

static void close_script(void *state)
{
	struct script *script = state;

	free(script->memory);
	free(script->handle);
	free(script);
}

static void *open_script(struct vec_args *args, const char *case_name)
{
	struct uvmp_pmm_params params = {0};
	struct script *script;
	size_t bytes;

	(void)case_name;
	params.roots = (uint32_t)vec_number(args, "roots", 1, SCRIPT_ROOTS_MAX);
	params.splits = params.roots;
	params.batch_order = (uint32_t)vec_number(args, "order", 0, 20);
	params.is_zeroed = vec_flag(args, "zero");
	params.quirks = true;
	if (args->failed)
		return NULL;
	script = vec_zeros(1, sizeof(*script));
	bytes = uvmp_pmm_size(&params);
	script->memory = vec_grow(NULL, bytes, 1);
	(void)uvmp_pmm_init(&params, script->memory, bytes, &script->pmm);
	return script;
}

static void add_handle(struct script *script, const struct handle *handle)
{
	if (script->handles == script->capacity) {
		script->capacity = script->capacity == 0 ? 64u : script->capacity * 2u;
		script->handle = vec_grow(script->handle, script->capacity, sizeof(*script->handle));
	}
	script->handle[script->handles++] = *handle;
}

/* The ids of the victim's chunks by their first page. */
static void ids_by_page(const struct script *script, uint32_t victim, uint32_t id_at[ROOT_PAGES])
{
	for (uint32_t page = 0; page < ROOT_PAGES; page++)
		id_at[page] = ID_NONE;
	for (uint32_t id = 0; id < script->handles; id++) {
		if (script->handle[id].is_alive && script->handle[id].chunk.root == victim)
			id_at[script->handle[id].chunk.page] = id;
	}
}

static enum uvmp_status evict(struct script *script, const struct handle *wanted, struct uvmp_chunk *chunk,
                              struct departed *departed)
{
	enum uvmp_status status = uvmp_pmm_evict_begin(script->pmm, UVMP_CHUNK_USER, &departed->victim);
	struct uvmp_pmm_eviction eviction;
	uint32_t id_at[ROOT_PAGES];
	bool found = true;

	if (status != UVMP_OK)
		return status;
	ids_by_page(script, departed->victim, id_at);
	while (uvmp_pmm_evict_next(script->pmm, departed->victim, &eviction, &found) == UVMP_OK && found) {
		departed->block[departed->blocks++] = eviction.block;
		for (uint32_t page = 0; page < ROOT_PAGES; page++) {
			if (!uvmp_mask_test(&eviction.pages, page) || id_at[page] == ID_NONE)
				continue;
			departed->id[departed->ids++] = id_at[page];
			script->handle[id_at[page]].is_alive = false;
		}
	}
	return uvmp_pmm_evict_end(script->pmm, departed->victim, UVMP_CHUNK_USER,
	                          (enum uvmp_chunk_size)wanted->chunk.size, wanted->block, chunk);
}

static void line_alloc(struct script *script, struct vec_args *args, struct vec_out *out)
{
	uint32_t id = (uint32_t)vec_number(args, "id", 0, UINT32_MAX - 1u);
	struct handle handle = {{0, 0, 0}, 0, false};
	bool may_evict;
	struct departed departed = {.victim = UVMP_ROOT_NONE};
	enum uvmp_status status;

	handle.chunk.size = (uint8_t)vec_choice(args, "size", size_names);
	handle.block = (uint32_t)vec_number(args, "block", 0, UINT32_MAX);
	may_evict = vec_flag(args, "evict");
	if (!args->failed && id != script->handles)
		vec_fail(args, "id: the next one is %u", script->handles);
	if (args->failed)
		return;
	status = uvmp_pmm_alloc(script->pmm, UVMP_CHUNK_USER, (enum uvmp_chunk_size)handle.chunk.size,
	                        handle.block, &handle.chunk);
	if (status == UVMP_ERR_NO_MEMORY && may_evict)
		status = evict(script, &handle, &handle.chunk, &departed);
	handle.is_alive = status == UVMP_OK;
	add_handle(script, &handle);
	if (status == UVMP_OK)
		vec_printf(out, "=> ok root=%u page=%u", handle.chunk.root, handle.chunk.page);
	else
		vec_printf(out, "=> %s", status == UVMP_ERR_RETRY ? "retry" : "no_memory");
	if (departed.victim == UVMP_ROOT_NONE)
		vec_printf(out, " victim=none blocks=");
	else
		vec_printf(out, " victim=%u blocks=", departed.victim);
	vec_print_list(out, departed.block, departed.blocks);
	vec_printf(out, " gone=");
	vec_print_list(out, departed.id, departed.ids);
	vec_printf(out, "\n");
}

static void print_roots(const struct script *script, enum uvmp_pmm_list list, const char *key,
                        struct vec_out *out)
{
	const char *comma = "";

	vec_printf(out, "%s=", key);
	for (uint32_t root = uvmp_pmm_first(script->pmm, list); root != UVMP_ROOT_NONE;
	     root = uvmp_pmm_next(script->pmm, root)) {
		vec_printf(out, "%s%u", comma, root);
		comma = ",";
	}
	vec_printf(out, *comma == '\0' ? "- " : " ");
}

static void line_dump(const struct script *script, struct vec_out *out)
{
	static const char *const keys[] = {"unused", "discarded", "used", "free_nonzero", "free_zero"};
	struct vec_set_printer printer;
	struct uvmp_pmm_counts counts;

	uvmp_pmm_count(script->pmm, &counts);
	vec_printf(out, "=> ");
	for (uint32_t list = UVMP_PMM_UNUSED; list <= UVMP_PMM_FREE_ZERO; list++)
		print_roots(script, (enum uvmp_pmm_list)list, keys[list], out);
	vec_printf(out, "free64k=%u free4k=%u pinned=%u pool=", counts.free_64k, counts.free_4k,
	           counts.pinned);
	vec_set_begin(&printer, out);
	for (uint32_t root = 0; root < counts.roots; root++) {
		if (uvmp_pmm_in_pool(script->pmm, root))
			vec_set_add(&printer, root);
	}
	vec_set_end(&printer);
	vec_printf(out, "\n");
}

/* Steps that take an allocated chunk. */
enum step { STEP_UNUSED, STEP_DISCARDED, STEP_USED, STEP_UNPIN, STEP_FREE, STEPS };

static void line_chunk(struct script *script, enum step step, struct vec_args *args, struct vec_out *out)
{
	uint32_t id = (uint32_t)vec_number(args, "id", 0, UINT32_MAX - 1u);
	enum uvmp_status status;
	struct handle *handle;

	if (!args->failed && (id >= script->handles || !script->handle[id].is_alive))
		vec_fail(args, "id: there is no chunk %u", id);
	if (args->failed)
		return;
	handle = &script->handle[id];
	if (step <= STEP_USED && handle->chunk.size != UVMP_CHUNK_2M) {
		vec_fail(args, "id: chunk %u is not a 2M one", id);
		return;
	}
	if (step == STEP_UNPIN)
		status = uvmp_pmm_unpin(script->pmm, handle->chunk);
	else if (step == STEP_FREE)
		status = uvmp_pmm_free(script->pmm, handle->chunk);
	else
		status = uvmp_pmm_mark(script->pmm, handle->chunk, (enum uvmp_chunk_mark)step);
	if (status != UVMP_OK) {
		vec_fail(args, "id: chunk %u is not pinned", id);
		return;
	}
	handle->is_alive = step != STEP_FREE;
	vec_printf(out, "=> ok\n");
}

static void line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const char *const steps[STEPS] = {"unused", "discarded", "used", "unpin", "free"};
	struct script *script = state;
	uint32_t step = 0;

	while (step < STEPS && strcmp(word, steps[step]) != 0)
		step++;
	if (step < STEPS)
		line_chunk(script, (enum step)step, args, out);
	else if (strcmp(word, "alloc") == 0)
		line_alloc(script, args, out);
	else if (strcmp(word, "dump") == 0)
		line_dump(script, out);
	else
		vec_fail(args, "%s: alloc, unpin, free, used, unused, discarded or dump is accepted", word);
}

const struct vec_kind vec_evict = {"evict", true, open_script, close_script, line};
