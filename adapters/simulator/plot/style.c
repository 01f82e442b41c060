/* Characters, colours and numbers of plots. */
#include "plot_internal.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static bool is_utf8, has_colour;

/* The first of these variables that is not empty names the locale (POSIX). */
static const char *locale_of_text(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < COUNT(names); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0] != '\0')
			return value;
	}
	return "C";
}

void plot_style_init(void)
{
	const char *dot = strchr(locale_of_text(), '.');
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

	is_utf8 = dot && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
	has_colour = isatty(STDOUT_FILENO) && (!no_colour || no_colour[0] == '\0') && terminal &&
		     strcmp(terminal, "dumb") != 0;
}

bool plot_is_utf8(void)
{
	return is_utf8;
}

void plot_colour(enum plot_colour colour, FILE *out)
{
	static const char *const codes[PLOT_COLOURS] = {"\033[0m",  "\033[34m", "\033[31m",
							"\033[33m", "\033[32m", "\033[90m"};

	if (has_colour)
		fputs(codes[colour], out);
}

void plot_bar(uint64_t eighths, FILE *out)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	uint64_t whole = is_utf8 ? eighths / 8u : (eighths + 4u) / 8u;

	for (uint64_t i = 0; i < whole; i++)
		fputs(is_utf8 ? "█" : "#", out);
	if (is_utf8)
		fputs(parts[eighths % 8u], out);
}

void plot_name(const char *name, int columns, FILE *out)
{
	int length = 0;

	for (; *name != '\0' && length < columns; name++) { /* bytes that continue a UTF-8 character take no column */
		fputc(*name, out);
		length += ((unsigned char)name[1] & 0xc0) != 0x80;
	}
	fprintf(out, "%*s", columns - length, "");
}

static void print_scaled(char text[PLOT_TEXT_MAX], uint64_t value, unsigned step, const char *const *units, size_t count)
{
	double scaled = (double)value;
	size_t unit = 0;

	for (; scaled >= step && unit + 1 < count; unit++)
		scaled /= step;
	snprintf(text, PLOT_TEXT_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", scaled, units[unit]);
}

void plot_time(char text[PLOT_TEXT_MAX], uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	print_scaled(text, ns, 1000, units, COUNT(units));
}

void plot_bytes(char text[PLOT_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

	print_scaled(text, bytes, 1024, units, COUNT(units));
}
