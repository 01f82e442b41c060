/* What codes of an nsys export mean: its enumeration tables say so. Where these are missing, the numbers are those of CUPTI
 * (CUpti_ActivityUnifiedMemoryMigrationCause, CUpti_ActivityUnifiedMemoryAccessType) and of the export's documentation. */
#include "import/nsys.h"

#include <ctype.h>
#include <string.h>

/* All texts that one name of a code may contain, and what the code then means. The first that fits counts. */
struct meaning {
	const char *word, *and;
	uint8_t value;
};

static const struct meaning accesses[] = {{"prefetch", "", UVMP_ACCESS_PREFETCH},
					  {"atomic", "", UVMP_ACCESS_ATOMIC_STRONG},
					  {"write", "", UVMP_ACCESS_WRITE},
					  {"read", "", UVMP_ACCESS_READ},
					  {NULL, NULL, 0}};
static const struct meaning causes[] = {
	{"user", "", IMPORT_CAUSE_USER},	 {"evict", "", IMPORT_CAUSE_EVICTION},
	{"counter", "", IMPORT_CAUSE_COUNTERS},	 {"prefetch", "", IMPORT_CAUSE_PREFETCH},
	{"coheren", "", IMPORT_CAUSE_COHERENCE}, {"fault", "", IMPORT_CAUSE_COHERENCE},
	{"unknown", "", IMPORT_CAUSE_UNKNOWN},	 {NULL, NULL, 0}};
static const struct meaning ways[] = {{"uni", "hosttodevice", NSYS_HOST_TO_DEVICE},
				      {"uvm", "htod", NSYS_HOST_TO_DEVICE},
				      {"uni", "devicetohost", NSYS_DEVICE_TO_HOST},
				      {"uvm", "dtoh", NSYS_DEVICE_TO_HOST},
				      {"uni", "devicetodevice", NSYS_DEVICE_TO_DEVICE},
				      {"uvm", "dtod", NSYS_DEVICE_TO_DEVICE},
				      {NULL, NULL, 0}};

/* Small letters only. */
static void plain(const char *text, char to[64])
{
	size_t length = 0;

	for (; *text != '\0' && length < 63; text++)
		if (isalpha((unsigned char)*text))
			to[length++] = (char)tolower((unsigned char)*text);
	to[length] = '\0';
}

static void take_code(uint64_t id, const char *text, const struct meaning *meaning, uint8_t value[NSYS_CODES])
{
	char word[64];

	plain(text, word);
	for (; meaning->word && id < NSYS_CODES; meaning++) {
		if (!strstr(word, meaning->word) || !strstr(word, meaning->and))
			continue;
		value[id] = meaning->value;
		return;
	}
}

/* The table's own words for its codes, where it has them. */
static bool read_codes(struct database *database, const char *table, const struct meaning *meaning,
		       uint8_t value[NSYS_CODES])
{
	static const struct database_column columns[] = {{"id", true}, {"name", false}, {"label", false}};
	enum line_status status;
	bool has_table, is_null;
	uint64_t id;

	if (!database_rows(database, table, columns, 3, &has_table))
		return false;
	if (!has_table)
		return true;
	while ((status = database_next(database)) == LINE_OK) {
		if (!database_number(database, 0, &id, &is_null))
			return false;
		take_code(id, database_text(database, 1), meaning, value);
		take_code(id, database_text(database, 2), meaning, value);
	}
	return status == LINE_END;
}

bool nsys_codes_read(struct database *database, struct nsys_codes *codes)
{
	static const uint8_t access[] = {UVMP_ACCESS_READ, UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
					 UVMP_ACCESS_ATOMIC_STRONG, UVMP_ACCESS_PREFETCH};

	for (size_t i = 0; i < NSYS_CODES; i++)
		codes->access[i] = i < sizeof(access) ? access[i] : UVMP_ACCESS_READ;
	for (uint8_t i = 0; i < IMPORT_CAUSES; i++)
		codes->cause[i] = i;
	codes->way[11] = NSYS_HOST_TO_DEVICE;
	codes->way[12] = NSYS_DEVICE_TO_HOST;
	codes->way[13] = NSYS_DEVICE_TO_DEVICE;
	return read_codes(database, "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE", accesses, codes->access) &&
	       read_codes(database, "ENUM_CUDA_UNIF_MEM_MIGRATION", causes, codes->cause) &&
	       read_codes(database, "ENUM_CUDA_MEMCPY_OPER", ways, codes->way);
}
