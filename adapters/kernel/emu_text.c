/* A ring of bytes that holds whole lines: when a line needs room the oldest ones go. */
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
	text->first = text->used = 0;
	text->lost = 0;
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
	text->first = text->used = 0;
	text->lost = 0;
	mutex_unlock(&text->lock);
}

/* -- pieces that go round the end -- */

/* Bytes from `at` on that lie side by side. */
static size_t side_by_side(const struct emu_text *text, size_t at, size_t bytes)
{
	return min(bytes, text->size - at);
}

static void drop_line(struct emu_text *text)
{
	size_t length = side_by_side(text, text->first, text->used);
	const char *start = text->bytes + text->first, *end = memchr(start, '\n', length);

	if (end != NULL) {
		length = (size_t)(end - start) + 1u;
	} else {
		end = memchr(text->bytes, '\n', text->used - length);
		length += (size_t)(end - text->bytes) + 1u;
	}
	text->first = (text->first + length) % text->size;
	text->used -= length;
	text->lost++;
}

static void append(struct emu_text *text, const char *line, size_t length)
{
	size_t at = (text->first + text->used) % text->size, some = side_by_side(text, at, length);

	memcpy(text->bytes + at, line, some);
	memcpy(text->bytes, line + some, length - some);
	text->used += length;
}

void emu_text_add(struct emu_text *text, const char *line, size_t length)
{
	mutex_lock(&text->lock);
	while (text->used + length > text->size && text->used != 0)
		drop_line(text);
	if (length <= text->size)
		append(text, line, length);
	else
		text->lost++;
	mutex_unlock(&text->lock);
}

/* What has to fault for the copy may need the worker, which writes here: nothing is copied to a program under
 * the lock. */
ssize_t emu_text_read(struct emu_text *text, char __user *to, size_t count, loff_t *at)
{
	char *piece = (char *)__get_free_page(GFP_KERNEL);
	ssize_t some = 0;

	if (piece == NULL)
		return -ENOMEM;
	mutex_lock(&text->lock);
	if (*at >= 0 && (u64)*at < text->used) {
		size_t from = (text->first + (size_t)*at) % text->size;

		size_t most = min3(count, (size_t)PAGE_SIZE, text->used - (size_t)*at);

		some = (ssize_t)side_by_side(text, from, most);
		memcpy(piece, text->bytes + from, (size_t)some);
	}
	mutex_unlock(&text->lock);
	if (copy_to_user(to, piece, (size_t)some) != 0)
		some = -EFAULT;
	else
		*at += some;
	free_page((unsigned long)piece);
	return some;
}
