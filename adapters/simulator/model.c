/* Models from their files; model.h.
 *
 * A file is read line by line into the fields of a table; a line number is kept for each field, so that
 * repeated keys are found and what the GPU's own file sets is not overwritten by the host's file that it
 * includes. */
#include "model_internal.h"

#include <string.h>

#define INCLUDES_MAX 4u /* GPUs that include each other */

static bool read_link(const char *name, const struct model_parse *asker, uint64_t line, struct model_link *link,
		      char *error)
{
	struct model_parse parse;
	FILE *in = model_open_file(&parse, MODEL_LINK, name, asker, line, error);

	memset(link, 0, sizeof(*link));
	if (!in || !model_read_lines(&parse, in, NULL, link) || !model_has_texts(&parse) ||
	    !model_check_link(&parse, link))
		return false;
	memcpy(link->title, parse.title, sizeof(link->title));
	memcpy(link->source, parse.source, sizeof(link->source));
	snprintf(link->name, sizeof(link->name), "%s", name);
	return true;
}

/* The included file sets the keys that the GPU's file does not set. A range belongs to a value: the included range
 * of a value that the GPU's file sets is dropped. */
static bool merge(struct model_parse *gpu, struct model *model, const struct model_parse *from,
		  const struct model *included)
{
	bool is_kept[MODEL_RANGES_MAX] = {false};

	for (uint32_t i = 0; i < included->ranges.count; i++) {
		const char *key = included->ranges.range[i].key;
		const struct model_field *field = model_find_field(key);

		is_kept[i] = (!field || gpu->line[field - model_field] == 0) &&
			     !model_ranges_find(&model->ranges, key);
	}
	for (size_t i = 0; i < model_fields; i++) {
		if (from->line[i] == 0 || gpu->line[i] != 0)
			continue;
		memcpy((char *)model + model_field[i].at, (const char *)included + model_field[i].at,
		       model_field[i].is_wide ? sizeof(uint64_t) : sizeof(uint32_t));
		gpu->line[i] = gpu->include_line;
	}
	return model_ranges_inherit(&model->ranges, &included->ranges, is_kept) ||
	       model_bad_at(gpu, gpu->include_line, "more than %u ranges, included ones among them",
			    MODEL_RANGES_MAX);
}

static bool read_host(struct model_parse *gpu, struct model *model)
{
	struct model_parse parse;
	struct model host;
	FILE *in = model_open_file(&parse, MODEL_HOST, gpu->include, gpu, gpu->include_line, gpu->error);

	memset(&host, 0, sizeof(host));
	return in && model_read_lines(&parse, in, &host, NULL) && model_has_texts(&parse) &&
	       model_check_ranges(&parse, &host) && merge(gpu, model, &parse, &host);
}

static void inherit(uint64_t *line, char *text, uint64_t from_line, const char *from, uint64_t include_line)
{
	if (*line != 0 || from_line == 0)
		return;
	memcpy(text, from, strlen(from) + 1);
	*line = include_line;
}

static bool read_gpu(struct model_parse *parse, FILE *in, struct model *model, bool needs_link, unsigned depth);

/* The GPU that this one includes, of which it changes some keys. */
static bool read_base(struct model_parse *gpu, struct model *model, bool needs_link, unsigned depth)
{
	struct model_parse parse;
	struct model base;
	FILE *in;

	if (depth + 1u == INCLUDES_MAX)
		return model_bad_at(gpu, gpu->include_line, "more than %u GPUs include each other", INCLUDES_MAX);
	in = model_open_file(&parse, MODEL_GPU, gpu->include, gpu, gpu->include_line, gpu->error);
	if (!in || !read_gpu(&parse, in, &base, needs_link, depth + 1u))
		return false;
	if (!merge(gpu, model, &parse, &base))
		return false;
	inherit(&gpu->title_line, gpu->title, parse.title_line, parse.title, gpu->include_line);
	inherit(&gpu->source_line, gpu->source, parse.source_line, parse.source, gpu->include_line);
	inherit(&gpu->link_line, gpu->link, parse.link_line, parse.link, gpu->include_line);
	model->link = base.link;
	return true;
}

/* A GPU's file, the files that it includes, and (needs_link) the link, which is read by the file that names it. */
static bool read_gpu(struct model_parse *parse, FILE *in, struct model *model, bool needs_link, unsigned depth)
{
	bool names_link;

	memset(model, 0, sizeof(*model));
	if (!model_read_lines(parse, in, model, NULL))
		return false;
	names_link = parse->link_line != 0;
	if (parse->include_line != 0 &&
	    !(model_is_gpu(parse->include) ? read_base(parse, model, needs_link && !names_link, depth)
				     : read_host(parse, model)))
		return false;
	if (!model_check_ranges(parse, model))
		return false;
	return !needs_link || !names_link ||
	       read_link(parse->link, parse, parse->link_line, &model->link, parse->error);
}

bool model_open_link(const char *link, struct model_link *out, char error[MODEL_ERROR_MAX])
{
	return read_link(link, NULL, 0, out, error);
}

bool model_open(const char *gpu, const char *link, struct model *model, char error[MODEL_ERROR_MAX])
{
	struct model_parse parse;
	FILE *in = model_open_file(&parse, MODEL_GPU, gpu, NULL, 0, error);

	if (!in || !read_gpu(&parse, in, model, link == NULL, 0) || !model_has_texts(&parse))
		return false;
	for (size_t i = 0; i < model_fields; i++) {
		if (parse.line[i] == 0 && !model_field[i].is_optional)
			return model_bad_at(&parse, parse.reader.number, "%s is missing", model_field[i].key);
	}
	if (parse.link_line == 0)
		return model_bad_at(&parse, parse.reader.number, "link is missing");
	memcpy(model->title, parse.title, sizeof(model->title));
	memcpy(model->source, parse.source, sizeof(model->source));
	snprintf(model->name, sizeof(model->name), "%s", gpu);
	return !link || read_link(link, NULL, 0, &model->link, error);
}
