// C++17 sees the same library: every header compiles, the symbols link, and the calls answer.
#include "uvmpolicy/uvmpolicy.h"
#include "uvmpolicy/uvmpolicy.h"

#include <cstring>

int main()
{
	uvmp_block block;
	uvmp_mask mask;
	uvmp_policy policy;

	if (std::strcmp(uvmp_version(), UVMP_VERSION_STRING) != 0)
		return 1;
	if (uvmp_block_from_shape(507, 5, 16, &block) != UVMP_OK)
		return 2;
	uvmp_mask_zero(&mask);
	uvmp_mask_region_set(&mask, uvmp_block_big_pages(&block, uvmp_region{0, 507}));
	if (uvmp_mask_weight(&mask) != 31 * 16)
		return 3;
	uvmp_policy_init(&policy);
	return uvmp_policy_is_valid(&policy) ? 0 : 4;
}
