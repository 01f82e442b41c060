/* Plain bytes go straight to the caller, but for the four that are looked at first. */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define MAGIC_BYTES  4u
#define PACKED_BYTES 65536u

struct input {
	FILE *file;
	uint64_t bytes;
	char problem[160]; /* empty: none */
	bool is_begun, is_packed;
	unsigned char head[MAGIC_BYTES]; /* head_at..head_end are not handed out yet */
	size_t head_at, head_end;
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd;
	bool is_mid_frame;
	bool is_output_full; /* decompressed bytes may be waiting inside zstd */
	size_t packed_at, packed_end;
	unsigned char packed[PACKED_BYTES];
#endif
};

static void fail(struct input *input, const char *what, const char *why)
{
	snprintf(input->problem, sizeof(input->problem), "%s%s", what, why);
}

static size_t read_file(struct input *input, void *to, size_t capacity)
{
	size_t got = fread(to, 1, capacity, input->file);

	input->bytes += got;
	if (got == 0 && ferror(input->file))
		fail(input, "cannot be read: ", strerror(errno));
	return got;
}

#ifdef HAVE_ZSTD
/* False: the end of the input, or a problem. */
static bool refill_packed(struct input *input)
{
	input->packed_at = 0;
	input->packed_end = read_file(input, input->packed, PACKED_BYTES);
	if (input->packed_end == 0 && input->problem[0] == '\0' && input->is_mid_frame)
		fail(input, "the compressed data ends in the middle", "");
	return input->packed_end != 0;
}

static size_t read_packed(struct input *input, void *to, size_t capacity)
{
	ZSTD_outBuffer out = {to, capacity, 0};

	while (out.pos == 0) {
		ZSTD_inBuffer in;
		size_t rest;

		if (input->packed_at == input->packed_end && !input->is_output_full && !refill_packed(input))
			return 0;
		in = (ZSTD_inBuffer){input->packed, input->packed_end, input->packed_at};
		rest = ZSTD_decompressStream(input->zstd, &out, &in);
		if (ZSTD_isError(rest)) {
			fail(input, "bad compressed data: ", ZSTD_getErrorName(rest));
			return 0;
		}
		input->packed_at = in.pos;
		input->is_mid_frame = rest != 0;
		input->is_output_full = out.pos == out.size && rest != 0;
	}
	return out.pos;
}

/* The head belongs to zstd. */
static void begin_packed(struct input *input)
{
	if (!input->zstd)
		input->zstd = ZSTD_createDStream();
	if (!input->zstd || ZSTD_isError(ZSTD_initDStream(input->zstd))) {
		fail(input, "out of memory", "");
		return;
	}
	memcpy(input->packed, input->head, MAGIC_BYTES);
	input->packed_at = input->head_end = 0;
	input->packed_end = MAGIC_BYTES;
	input->is_mid_frame = input->is_output_full = false;
}
#else
static void begin_packed(struct input *input)
{
	input->is_packed = false; /* the file as a whole is refused, not a line of it */
	fail(input, "is zstd-compressed, and this program was built without zstd", "");
}
#endif

static void begin(struct input *input)
{
	static const unsigned char zstd[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

	input->is_begun = true;
	input->head_end = read_file(input, input->head, MAGIC_BYTES);
	input->is_packed = input->head_end == MAGIC_BYTES && memcmp(input->head, zstd, MAGIC_BYTES) == 0;
	if (input->is_packed)
		begin_packed(input);
}

size_t input_read(struct input *input, void *to, size_t capacity)
{
	size_t head;

	if (!input->is_begun)
		begin(input);
	if (input->problem[0] != '\0')
		return 0;
#ifdef HAVE_ZSTD
	if (input->is_packed)
		return read_packed(input, to, capacity);
#endif
	head = input->head_end - input->head_at;
	if (head == 0)
		return read_file(input, to, capacity);
	head = head < capacity ? head : capacity;
	memcpy(to, input->head + input->head_at, head);
	input->head_at += head;
	return head;
}

struct input *input_open(FILE *file)
{
	struct input *input = calloc(1, sizeof(*input));

	if (input)
		input->file = file;
	return input;
}

void input_restart(struct input *input)
{
	input->is_begun = input->is_packed = false;
	input->head_at = input->head_end = 0;
	input->problem[0] = '\0';
}

const char *input_problem(const struct input *input)
{
	return input->problem[0] != '\0' ? input->problem : NULL;
}

bool input_is_packed(const struct input *input)
{
	return input->is_packed;
}

uint64_t input_bytes(const struct input *input)
{
	return input->bytes;
}

void input_close(struct input *input)
{
	if (!input)
		return;
#ifdef HAVE_ZSTD
	ZSTD_freeDStream(input->zstd);
#endif
	free(input);
}
