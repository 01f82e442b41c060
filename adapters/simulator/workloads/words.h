/* Parameters that are one of a few words. */
#ifndef UVMSIM_WORDS_H
#define UVMSIM_WORDS_H

#include <string.h>

#include "workload.h"

/* Which of the words, whose list ends with NULL, the text parameter `index` is; the first one if it is not
 * given, and as many as there are words if it is none of them. */
static inline unsigned words_find(const struct workload *workload, unsigned index, const char *const *words)
{
	unsigned found = 0;

	if (workload->text[index] == NULL)
		return 0;
	while (words[found] != NULL && strcmp(workload->text[index], words[found]) != 0)
		found++;
	return found;
}

#endif
