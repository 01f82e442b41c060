/* Assertions behind the public boundary. Public functions check their arguments; calls inside the library do not, but
 * builds with -DUVMPI_DEBUG (the sanitizer builds) trap where such a call breaks the contract. */
#ifndef UVMPOLICY_DEBUG_INTERNAL_H
#define UVMPOLICY_DEBUG_INTERNAL_H

#ifdef UVMPI_DEBUG
#define UVMPI_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define UVMPI_ASSERT(condition) ((void)0)
#endif

#endif
