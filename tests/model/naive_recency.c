/* Touching takes the unit out of the array, if it is there, and puts it at the end. */
#include "model/naive_recency.h"

void naive_recency_init(struct naive_recency *list)
{
	list->count = 0;
}

int naive_recency_find(const struct naive_recency *list, uint32_t unit)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->unit[i] == unit)
			return (int)i;
	return -1;
}

void naive_recency_remove(struct naive_recency *list, uint32_t unit)
{
	int at = naive_recency_find(list, unit);

	if (at < 0)
		return;
	for (uint32_t i = (uint32_t)at; i + 1 < list->count; i++)
		list->unit[i] = list->unit[i + 1];
	list->count--;
}

void naive_recency_touch(struct naive_recency *list, uint32_t unit)
{
	naive_recency_remove(list, unit);
	list->unit[list->count++] = unit;
}
