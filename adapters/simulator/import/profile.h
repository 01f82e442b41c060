/* profile.h: unified-memory events that profilers record: faults, migrations and kernels, each with its times. Importers hand the
 * events over in any order; they are kept in memory, 56 bytes each, and become rows in the order of their times.
 *
 * A profile lists faults. An access to a page that is resident, because it was prefetched or is used again, is in no profile. */
#ifndef UVMSIM_IMPORT_PROFILE_H
#define UVMSIM_IMPORT_PROFILE_H

#include "import/importer.h"

enum import_event_kind { IMPORT_KERNEL = 0, IMPORT_GPU_FAULT, IMPORT_CPU_FAULT, IMPORT_MIGRATION };

#define IMPORT_MIGRATION_MOST (UINT64_C(1) << 36) /* bytes of one migration */

struct import_event {
	uint64_t start, end; /* ns; end at least start. GPU faults that overlap were serviced together */
	uint64_t address;    /* of a fault or migration */
	union {
		uint64_t bytes;	  /* of a migration, 1..IMPORT_MIGRATION_MOST */
		uint64_t faults;  /* of the GPU, of this page, at least 1 */
		const char *name; /* of a kernel; copied */
	};
	uint32_t order; /* of arrival; filled */
	uint32_t batch; /* of a fault of the GPU, if has_batch: faults of one batch were serviced together */
	uint8_t kind;	/* enum import_event_kind */
	uint8_t access; /* of a fault: enum uvmp_access */
	uint8_t cause;	/* of a migration: enum import_cause */
	bool to_gpu;	/* of a migration; else to the CPU */
	bool has_batch;
};

/* The events were handed over in the first reading: the second one need not hand them over again. */
bool import_profile_is_loaded(const struct import *import);
/* Checks the event and keeps it. `what` names it in errors. False: the error is filled. */
bool import_profile_add(struct import *import, const char *what, const struct import_event *event);
/* All events were handed over: checks that there are some of the chosen GPU and process, sorts them and fills import->told.
 * False: the error is filled. */
bool import_profile_load(struct import *import);
/* May a page of this migration count as touched where it went? */
bool import_profile_touches(const struct import_event *event);
/* Writes the rows of all events, in each of the readings. */
bool import_profile_write(struct import *import);
void import_profile_free(struct import *import);

/* profile_told.c: fills import->told from the sorted events. False: out of memory. */
bool import_profile_tell(const struct import_event *event, size_t count, struct import_told *told);

#endif
