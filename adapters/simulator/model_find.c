/* Files of models by name: built-in ones, and those of users; model_internal.h. */
#include "model_internal.h"

#include <errno.h>
#include <string.h>

#include "output_conflicts.h"

#include "nearest.h"

static const char *const endings[] = {".gpu", ".host", ".link"};

bool model_ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);

	return length > tail && strcmp(text + length - tail, ending) == 0;
}

static bool is_path(const char *name, enum model_kind kind)
{
	return strchr(name, '/') != NULL || model_ends_with(name, endings[kind]);
}

/* The nearest built-in name, as a hint, and for GPUs all of them. */
static void describe_built_in(const char *name, enum model_kind kind, char text[MODEL_ERROR_MAX])
{
	char hint[NEAREST_TEXT_MAX], names[32][NEAREST_TEXT_MAX / 2], all[MODEL_ERROR_MAX] = "";
	struct nearest nearest;
	unsigned count = 0;

	nearest_start(&nearest, name, strlen(name));
	for (const struct model_file *file = model_files; file->name && count < 32; file++) {
		if (!model_ends_with(file->name, endings[kind]))
			continue;
		snprintf(names[count], sizeof(names[count]), "%.*s",
			 (int)(strlen(file->name) - strlen(endings[kind])), file->name);
		nearest_try(&nearest, names[count]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", count > 0 ? ", " : "",
			 names[count]);
		count++;
	}
	snprintf(text, MODEL_ERROR_MAX, "%s; there are: %.300s", nearest_hint(&nearest, hint), all);
}

static const struct model_file *find_built_in(const char *name, enum model_kind kind)
{
	size_t length = strlen(name);

	for (const struct model_file *file = model_files; file->name; file++) {
		if (strncmp(file->name, name, length) == 0 && strcmp(file->name + length, endings[kind]) == 0)
			return file;
	}
	return NULL;
}

/* A path that stands in a file counts from the folder of that file. */
static bool full_path(const char *name, const char *from, char path[MODEL_NAME_MAX])
{
	const char *slash = from && name[0] != '/' ? strrchr(from, '/') : NULL;
	int length;

	while (slash && strncmp(name, "./", 2) == 0)
		name += 2;
	length = snprintf(path, MODEL_NAME_MAX, "%.*s%s", slash ? (int)(slash + 1 - from) : 0,
			  slash ? from : "", name);

	return length > 0 && length < MODEL_NAME_MAX;
}

/* NULL with parse->error, which has no line of its own yet: the caller knows the source. */
static FILE *open_file(struct model_parse *parse, const char *name, const char *from)
{
	const struct model_file *file = find_built_in(name, parse->kind);
	char known[MODEL_ERROR_MAX];
	FILE *in;

	if (!is_path(name, parse->kind)) {
		if (!file) {
			describe_built_in(name, parse->kind, known);
			snprintf(parse->error, MODEL_ERROR_MAX,
				 "there is no %s \"%.100s\"%.300s; a file of yours is named with its path",
				 parse->kind == MODEL_GPU    ? "GPU model"
				 : parse->kind == MODEL_HOST ? "host or GPU model"
							     : "link",
				 name, known);
			return NULL;
		}
		snprintf(parse->file, sizeof(parse->file), "%s", file->name);
		in = fmemopen((void *)(uintptr_t)file->bytes, file->length, "r");
	} else {
		if (!full_path(name, from, parse->file)) {
			snprintf(parse->error, MODEL_ERROR_MAX, "the path \"%.100s...\" is too long", name);
			return NULL;
		}
		parse->folder = parse->file;
		in = fopen(parse->file, "r");
		output_protect("--gpu", parse->file);
	}
	if (!in)
		snprintf(parse->error, MODEL_ERROR_MAX, "%s: %s", parse->file, strerror(errno));
	return in;
}

FILE *model_open_file(struct model_parse *parse, enum model_kind kind, const char *name, const struct model_parse *asker,
		      uint64_t line, char *error)
{
	FILE *in;

	memset(parse, 0, sizeof(*parse));
	parse->kind = kind;
	parse->error = error;
	in = open_file(parse, name, asker ? asker->folder : NULL);
	if (!in && asker) {
		char text[MODEL_ERROR_MAX];

		snprintf(text, sizeof(text), "%.*s", MODEL_ERROR_MAX - MODEL_NAME_MAX - 32, error);
		snprintf(error, MODEL_ERROR_MAX, "%s:%llu: %.*s", asker->file, (unsigned long long)line,
			 MODEL_ERROR_MAX - MODEL_NAME_MAX - 32, text);
	}
	return in;
}

bool model_is_gpu(const char *name)
{
	return model_ends_with(name, endings[MODEL_GPU]) ||
	       (!is_path(name, MODEL_HOST) && !find_built_in(name, MODEL_HOST) && find_built_in(name, MODEL_GPU));
}
