/* A ring of bytes that holds whole lines; the oldest lines are dropped for a new one.
 *
 * A position counts all bytes that were ever written, so it keeps its meaning while lines are added and
 * dropped, also after the text is cleared. A reader gets whole lines. If its next line was dropped, it
 * continues with the oldest one. */
#include "emu.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

int emu_text_init(struct emu_text *text, size_t size)
{
	mutex_init(&text->lock);
	text->bytes = kvmalloc(size, GFP_KERNEL);
	if (text->bytes == NULL)
		return -ENOMEM;
	text->size = size;
	text->begin = text->end = 0;
	return 0;
}

void emu_text_exit(struct emu_text *text)
{
	kvfree(text->bytes);
	text->bytes = NULL;
	mutex_destroy(&text->lock);
}

void emu_text_clear(struct emu_text *text)
{
	mutex_lock(&text->lock);
	text->begin = text->end;
	mutex_unlock(&text->lock);
}

/* -- pieces that go round the end -- */

/* Bytes from the position on that are contiguous. */
static size_t side_by_side(const struct emu_text *text, u64 at, size_t bytes)
{
	return min(bytes, text->size - (size_t)(at % text->size));
}

static char *place(const struct emu_text *text, u64 at)
{
	return text->bytes + at % text->size;
}

static void drop_line(struct emu_text *text)
{
	size_t used = (size_t)(text->end - text->begin), length = side_by_side(text, text->begin, used);
	const char *start = place(text, text->begin), *end = memchr(start, '\n', length);

	if (end != NULL) {
		text->begin += (u64)(end - start) + 1u;
		return;
	}
	end = memchr(text->bytes, '\n', used - length);
	text->begin += length + (u64)(end - text->bytes) + 1u;
}

static void append(struct emu_text *text, const char *line, size_t length)
{
	size_t some = side_by_side(text, text->end, length);

	memcpy(place(text, text->end), line, some);
	memcpy(text->bytes, line + some, length - some);
	text->end += length;
}

static void take(const struct emu_text *text, u64 at, char *to, size_t bytes)
{
	size_t some = side_by_side(text, at, bytes);

	memcpy(to, place(text, at), some);
	memcpy(to + some, text->bytes, bytes - some);
}

void emu_text_add(struct emu_text *text, const char *line, size_t length)
{
	if (length > text->size)
		return;
	mutex_lock(&text->lock);
	while (text->end - text->begin + length > text->size)
		drop_line(text);
	append(text, line, length);
	mutex_unlock(&text->lock);
}

/* -- reading -- */

/* A line longer than the request is split. */
static size_t whole_lines(const char *bytes, size_t count)
{
	size_t lines = count;

	while (lines > 0 && bytes[lines - 1u] != '\n')
		lines--;
	return lines > 0 ? lines : count;
}

static size_t read_lines(struct emu_text *text, char *to, size_t count, u64 *at)
{
	mutex_lock(&text->lock);
	*at = max(*at, text->begin);
	count = *at < text->end ? min_t(u64, count, text->end - *at) : 0;
	take(text, *at, to, count);
	mutex_unlock(&text->lock);
	return whole_lines(to, count);
}

/* The copy may fault and need the worker, which writes here: nothing is copied to a program under the
 * lock. */
ssize_t emu_text_read(struct emu_text *text, char __user *to, size_t count, loff_t *position)
{
	char *lines = (char *)__get_free_page(GFP_KERNEL);
	u64 at = (u64)max_t(loff_t, *position, 0);
	bool is_copied;
	size_t length;

	BUILD_BUG_ON(UVMP_ACTION_TEXT_MAX > PAGE_SIZE);
	if (lines == NULL)
		return -ENOMEM;
	length = read_lines(text, lines, min_t(size_t, count, PAGE_SIZE), &at);
	is_copied = copy_to_user(to, lines, length) == 0;
	free_page((unsigned long)lines);
	if (!is_copied)
		return -EFAULT;
	*position = (loff_t)(at + length);
	return (ssize_t)length;
}
