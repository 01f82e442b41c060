/* nsys.h: the codes in the tables of an nsys export. */
#ifndef UVMSIM_IMPORT_NSYS_H
#define UVMSIM_IMPORT_NSYS_H

#include "import/database.h"

#define NSYS_CODES 32u /* larger ones mean nothing here */

/* What the export calls copies of unified memory. */
enum nsys_way { NSYS_NOT_UNIFIED = 0, NSYS_HOST_TO_DEVICE, NSYS_DEVICE_TO_HOST, NSYS_DEVICE_TO_DEVICE };

struct nsys_codes {
	uint8_t access[NSYS_CODES], cause[NSYS_CODES],
		way[NSYS_CODES]; /* enum uvmp_access, import_cause, nsys_way */
};

/* Fills the codes. False: the error is filled. */
bool nsys_codes_read(struct database *database, struct nsys_codes *codes);

#endif
