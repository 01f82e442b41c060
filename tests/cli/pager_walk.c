/* Reads and writes at random, in N threads (argument, default 1) over memory that is shared, allocates and
 * frees in between; for pager_decisions.sh. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES    ((size_t)24 << 20)
#define TOUCHES  2000
#define MOST     64
#define MULTIPLY 1103515245u

static volatile unsigned char *memory;

static void *walk(void *seed)
{
	unsigned x = 1u + *(unsigned *)seed;

	for (int i = 0; i < TOUCHES; i++) {
		x = x * MULTIPLY + 12345u;
		if (x & 64u)
			memory[(x >> 1) % BYTES] = (unsigned char)i;
		else
			(void)memory[(x >> 1) % BYTES];
	}
	return NULL;
}

static void fill(size_t bytes)
{
	char *other = malloc(bytes);

	memset(other, 1, bytes);
	free(other);
}

int main(int arguments, char **argument)
{
	unsigned threads = arguments > 1 ? (unsigned)atoi(argument[1]) : 1u, seed[MOST];
	pthread_t thread[MOST];

	memory = malloc(BYTES);
	fill((size_t)4 << 20);
	for (unsigned i = 0; i < threads && i < MOST; i++) {
		seed[i] = i;
		pthread_create(&thread[i], NULL, walk, &seed[i]);
	}
	for (unsigned i = 0; i < threads && i < MOST; i++)
		pthread_join(thread[i], NULL);
	fill((size_t)6 << 20);
	walk(&seed[0]);
	free((void *)memory);
	return 0;
}
