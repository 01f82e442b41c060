/* csv_line.h: the fields of a line of CSV, as quote.h writes them: plain, or in quotation marks that are doubled inside. */
#ifndef UVMSIM_SWEEP_CSV_LINE_H
#define UVMSIM_SWEEP_CSV_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the field at *at, without quotation marks, cut to `room` bytes with its NUL, and moves *at behind its comma, or to NULL
 * after the last field. False: the line is not CSV there. */
bool csv_line_next(const char **at, char *field, size_t room);
/* Copies the field with this number, counted from 0. False: the line has fewer fields. */
bool csv_line_field(const char *line, size_t number, char *field, size_t room);
/* How many fields there are; 0: the line is not CSV. */
size_t csv_line_fields(const char *line);
/* The number of the field with this text; SIZE_MAX: none has it. */
size_t csv_line_find(const char *line, const char *name);

#endif
