/* C = A B, single precision, in tiles of 64 by 64; for record.sh. usage: sgemm N (a multiple of 64) */
#include <stdio.h>
#include <stdlib.h>

#define TILE 64u

static void multiply_tile(const float *a, const float *b, float *c, size_t n)
{
	for (size_t i = 0; i < TILE; i++)
		for (size_t k = 0; k < TILE; k++)
			for (size_t j = 0; j < TILE; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main(int arguments, char **argument)
{
	size_t n = arguments > 1 ? (size_t)atoi(argument[1]) : 512u;
	float *a = malloc(n * n * sizeof(*a)), *b = malloc(n * n * sizeof(*b)),
	      *c = calloc(n * n, sizeof(*c));
	double sum = 0;

	if (!a || !b || !c)
		return 1;
	for (size_t i = 0; i < n * n; i++) {
		a[i] = (float)(i % 7u);
		b[i] = (float)(i % 5u);
	}
	for (size_t i = 0; i < n; i += TILE)
		for (size_t j = 0; j < n; j += TILE)
			for (size_t k = 0; k < n; k += TILE)
				multiply_tile(a + i * n + k, b + k * n + j, c + i * n + j, n);
	for (size_t i = 0; i < n * n; i++)
		sum += c[i];
	printf("%.0f\n", sum);
	return 0;
}
