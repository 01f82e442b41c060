/* The surroundings of the block of docs/pager.md: compiled by tests/cli/snippets.sh, with the block as SNIPPET. */
#include <stdio.h>

#include <uvmpolicy/pager.h>

int main(void)
{
SNIPPET
	a[0] = 1;
	uvmp_pager_destroy(pager);
	return 0;
}
