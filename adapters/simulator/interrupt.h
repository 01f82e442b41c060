/* interrupt.h: SIGINT and SIGTERM end a run early; the results so far are reported. */
#ifndef UVMSIM_INTERRUPT_H
#define UVMSIM_INTERRUPT_H

#include <signal.h>

/* The signal that requested the end; 0: none. Long loops check it and fail with the text `interrupted`. */
extern volatile sig_atomic_t interrupt_caught;

/* From here on the first signal is noted. Two seconds later another one kills the process as it would have; a second key press
 * in the terminal does so at once. Blocking calls return with EINTR. A signal that is ignored (nohup) stays ignored. */
void interrupt_catch(void);
/* The long part is over: signals do what they always do. Where one has been noted, what is printed now is no
 * longer disturbed by EINTR. */
void interrupt_done(void);
/* Exit status of a program that a signal ended. */
static inline int interrupt_status(void)
{
	return 128 + (int)interrupt_caught;
}

#endif
