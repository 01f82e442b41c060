/* uvmpolicy.h: the decisions of a GPU unified-memory driver. This header is the basic set: all that a host of
 * the engine needs. The advanced set (advanced.h) has one header per decision, for hosts that take single
 * decisions.
 *
 * A host runs the driver without its I/O in five steps. docs/examples/engine.c is a whole program.
 *
 *  1. Choose a policy by a string.
 *       uvmp_policy_init(&policy);                     the driver's defaults
 *       uvmp_policy_parse(text, length, &policy, &error);
 *                                                      "preset=uvmsmart evict=tbne", docs/policies.md
 *  2. Describe the system, and give the engine memory. The engine allocates nothing.
 *       struct uvmp_service_params params = {...};     GPUs, page size, limits
 *       uvmp_service_params_check(&params, &error);    names the first bad parameter
 *       bytes = uvmp_service_size(&params, blocks);    memory, aligned to 16
 *       uvmp_service_init(&params, memory, bytes, &service);
 *  3. Describe the processes.
 *       uvmp_service_bind(service, gpu, ...);          a channel of an address space
 *       uvmp_service_add_range(service, space, base, bytes, right, home);
 *  4. Report events.
 *       uvmp_service_fault()     a GPU fault           uvmp_service_cpu_fault()  a CPU fault
 *       uvmp_service_access()    an access             uvmp_service_note()       a counter's notification
 *       uvmp_service_advise()    advice                uvmp_service_migrate()    an explicit migration
 *       uvmp_service_free_range(), uvmp_service_free_part()
 *  5. Perform the answers, until none is left.
 *       uvmp_service_next(service, now_ns, &action);   UVMP_OK: one action; UVMP_ERR_RETRY: none now;
 *                                                      UVMP_ERR_ARENA: uvmp_service_grow, then again
 *       uvmp_service_complete(service, action.id, status);
 *       uvmp_action_print(&action, text, sizeof(text));  one line of the decision log
 *
 * Conventions. A function returns an enum uvmp_status; a negative status means that nothing has changed, and
 * uvmp_status_text explains it. Addresses are bytes, times are nanoseconds. A run of pages is [first, end).
 * Processor 0 is the CPU, 1..63 are GPUs. Zero in a structure of facts or parameters means "nothing special".
 * No function allocates, blocks, or keeps state outside of the caller's memory. Calls on one object need a
 * lock of the caller; calls on different objects do not.
 *
 *   header        | basic set
 *   --------------|----------------------------------------------------------------------------------------
 *   base.h        | status, types, version, random numbers
 *   processor.h   | processors and how they reach each other
 *   policy.h      | the policy string: parser, printer, keys, presets
 *   service.h     | the engine: set-up, events, actions, queries
 *
 * policy.h and service.h include the headers of the advanced set whose structures they use.
 */
#ifndef UVMPOLICY_UVMPOLICY_H
#define UVMPOLICY_UVMPOLICY_H

#include "base.h"
#include "policy.h"
#include "processor.h"
#include "service.h"

#endif
