/* output_path.h: the parts of the path of a file that is written. */
#ifndef UVMP_HOST_OUTPUT_PATH_H
#define UVMP_HOST_OUTPUT_PATH_H

#include <stddef.h>

/* The descriptor that the path names: /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N. -1: none. */
int output_path_descriptor(const char *path);
/* The length of the path's folder with its last slash; 0: the working folder. */
size_t output_path_folder_length(const char *path);
/* The path of the folder; the caller frees it. NULL: out of memory. */
char *output_path_folder(const char *path);
/* The path without links in its last part, at most 40 of them; the caller frees it. NULL: out of memory. */
char *output_path_resolve(const char *path);

#endif
