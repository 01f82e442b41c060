/* A recency order as a plain array, oldest first; every operation walks it. */
#ifndef TESTS_MODEL_NAIVE_RECENCY_H
#define TESTS_MODEL_NAIVE_RECENCY_H

#include <stdbool.h>
#include <stdint.h>

#define NAIVE_RECENCY_MAX 1024

struct naive_recency {
	uint32_t unit[NAIVE_RECENCY_MAX];
	uint32_t count;
};

void naive_recency_init(struct naive_recency *list);
/* Where the unit stands, oldest 0; -1 if nowhere. */
int naive_recency_find(const struct naive_recency *list, uint32_t unit);
void naive_recency_touch(struct naive_recency *list, uint32_t unit);
void naive_recency_remove(struct naive_recency *list, uint32_t unit);

#endif
