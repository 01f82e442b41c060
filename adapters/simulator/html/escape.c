/* Text and JSON within HTML. */
#include "html_internal.h"

#include <stdlib.h>

void html_text(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

void html_json(const char *json, size_t bytes, FILE *out)
{
	for (size_t i = 0; i < bytes; i++) {
		if (json[i] == '<')
			fputs("\\u003c", out);
		else
			fputc(json[i], out);
	}
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

	return *word != '\0' && word[strspn(word, plain)] == '\0';
}

static void write_word(const char *word, FILE *out)
{
	if (is_plain(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word != '\0'; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
	fputc('\'', out);
}

char *html_command_line(const struct html_command *command)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	if (command->default_policy) {
		fputs("UVMP_POLICY=", out);
		write_word(command->default_policy, out);
		fputc(' ', out);
	}
	fputs("uvmsim", out);
	for (int i = 0; i < command->argc; i++) {
		fputc(' ', out);
		write_word(command->argv[i], out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
