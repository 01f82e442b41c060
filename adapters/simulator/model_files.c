/* The files of models/, as the Makefile has turned them into arrays. */
#include "model.h"

#include "models.inc"
