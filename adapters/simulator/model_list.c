/* The list of built-in GPUs; model.h. */
#include "model_internal.h"

#include <string.h>

#include "cli.h"

/* How well published figures validate the model: of the file that `make fidelity-figures` writes. */
static void print_validation(const char *name, char *text, size_t room)
{
	const struct model_file *file = model_files;
	unsigned long inside, all, chose;
	char line[MODEL_NAME_MAX], word[64];
	bool is_found = false;
	FILE *in;

	while (file->name && strcmp(file->name, "validation.list") != 0)
		file++;
	in = file->name ? fmemopen((void *)(uintptr_t)file->bytes, file->length, "r") : NULL;
	while (in && !is_found && fgets(line, sizeof(line), in))
		is_found = sscanf(line, "%63s %lu %lu %lu", word, &inside, &all, &chose) == 4 &&
			   strcmp(word, name) == 0;
	if (in)
		fclose(in);
	if (!is_found)
		inside = all = chose = 0;
	if (all == 0)
		snprintf(text, room, "validated by no published figure");
	else
		snprintf(text, room, "validated by %lu published figures, %lu inside (%lu %%)", all, inside,
			 (inside * 100 + all / 2) / all);
	if (chose != 0)
		snprintf(text + strlen(text), room - strlen(text), "; constants chosen with %lu further figure%s", chose,
			 chose == 1 ? "" : "s");
}

static void list_one(const struct model *model, FILE *out)
{
	const struct model_link *link = &model->link;
	char text[2 * MODEL_SOURCE_MAX];

	fprintf(out, "%s\n    ", model->name);
	cli_print_words(4, model->title, out);
	snprintf(text, sizeof(text),
		 "%u SMs of %u warps, %llu MiB at %u MB/s, host pages of %u KiB; link %s: up to %llu MB/s "
		 "in, %llu "
		 "out",
		 model->sms, model->warps_per_sm, (unsigned long long)model->memory_bytes >> 20,
		 model->memory_mb_s, model->page_bytes >> 10, link->name,
		 (unsigned long long)model_link_mb_s(link, MODEL_TO_GPU),
		 (unsigned long long)model_link_mb_s(link, MODEL_TO_CPU));
	fputs("    ", out);
	cli_print_words(4, text, out);
	fputs("    source: ", out);
	cli_print_words(4, model->source, out);
	if (model->lacks_counters != 0) {
		fputs("    ", out);
		cli_print_words(4, "the real chip has no access counters: remote=auto and counters=on work in the model only", out);
	}
	print_validation(model->name, text, sizeof(text));
	fputs("    ", out);
	cli_print_words(4, text, out);
}

bool model_list_one(const char *name, FILE *out, char error[MODEL_ERROR_MAX])
{
	struct model model;

	if (!model_open(name, NULL, &model, error))
		return false;
	list_one(&model, out);
	return true;
}

bool model_list(FILE *out, char error[MODEL_ERROR_MAX])
{
	for (const struct model_file *file = model_files; file->name; file++) {
		char name[MODEL_NAME_MAX];

		if (!model_ends_with(file->name, ".gpu"))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(strlen(file->name) - strlen(".gpu")), file->name);
		if (!model_list_one(name, out, error))
			return false;
	}
	return true;
}
