#include "packer.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZSTD
#include <zstd.h>

#define PIECE_BYTES 65536u

struct packer {
	ZSTD_CCtx *zstd;
	const char *problem;
	char piece[PIECE_BYTES];
};

bool packer_is_available(void)
{
	return true;
}

struct packer *packer_open(void)
{
	struct packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->zstd = ZSTD_createCCtx();
	/* The check sum tells a damaged file from a strange one. */
	if (packer->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1)))
		return packer;
	packer_close(packer);
	return NULL;
}

bool packer_write(struct packer *packer, const void *bytes, size_t length, bool is_last, packer_put *put,
		  void *to)
{
	ZSTD_inBuffer in = {bytes, length, 0};
	size_t rest;

	do {
		ZSTD_outBuffer out = {packer->piece, sizeof(packer->piece), 0};

		rest = ZSTD_compressStream2(packer->zstd, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(rest)) {
			packer->problem = ZSTD_getErrorName(rest);
			return false;
		}
		if (!put(to, packer->piece, out.pos))
			return false;
	} while (is_last ? rest != 0 : in.pos < in.size);
	return true;
}

const char *packer_problem(const struct packer *packer)
{
	return packer->problem;
}

void packer_close(struct packer *packer)
{
	if (packer)
		ZSTD_freeCCtx(packer->zstd);
	free(packer);
}
#else
bool packer_is_available(void)
{
	return false;
}

struct packer *packer_open(void)
{
	return NULL;
}

bool packer_write(struct packer *packer, const void *bytes, size_t length, bool is_last, packer_put *put,
		  void *to)
{
	(void)packer;
	(void)is_last;
	return put(to, bytes, length);
}

const char *packer_problem(const struct packer *packer)
{
	(void)packer;
	return NULL;
}

void packer_close(struct packer *packer)
{
	(void)packer;
}
#endif

bool packer_is_wanted(const char *path)
{
	size_t length = strlen(path);

	return length >= 4 && strcmp(path + length - 4, ".zst") == 0;
}
