/* uvmpolicy.h: the decisions of a GPU unified-memory driver. This header is the basic set: all that a host of
 * the engine needs. The advanced set (advanced.h) has one header per decision, for hosts that take single
 * decisions.
 *
 * A host runs the driver without its I/O in five steps. docs/examples/engine.c is a whole program.
 *
 *  1. Choose a policy by a string (docs/policies.md).
 *
 *       struct uvmp_policy policy;
 *       struct uvmp_policy_error wrong;
 *       if (uvmp_policy_parse(text, length, &policy, &wrong) != UVMP_OK)
 *               puts(wrong.text);                      e.g. "threshold: 101 is not accepted; 0..100"
 *
 *     "" is the driver's policy. uvmp_policy_init sets the same without a string. uvmp_policy_needs lists
 *     what the host must provide: touches, access counters, kernel boundaries, a page size.
 *
 *  2. Describe the system, and give the engine memory. The engine allocates nothing.
 *
 *       struct uvmp_service_gpu gpu = {.size = sizeof(gpu), .memory_bytes = ..., .fault_entries = ..., ...};
 *       struct uvmp_service_params params = {.size = sizeof(params), .policy = &policy, .gpu = &gpu, ...};
 *       uvmp_service_params_check(&params, &error);    names the first bad parameter
 *       bytes = uvmp_service_size(&params, blocks);    memory, aligned to 16
 *       uvmp_service_init(&params, memory, bytes, &service);
 *
 *  3. Describe the processes: each channel, each managed range.
 *
 *       uvmp_service_bind(service, gpu, aperture, instance, subcontext, space);
 *       uvmp_service_add_range(service, space, base, bytes, right, home);
 *
 *  4. Report events. Faults, accesses and notifications take effect at once. Requests wait their turn; each
 *     ends with a DONE action that carries its ticket.
 *
 *       event                                          call
 *       ---------------------------------------------  -------------------------------------------------
 *       fault of a GPU, fault of the CPU               uvmp_service_fault, uvmp_service_cpu_fault
 *       access to a resident page                      uvmp_service_access, uvmp_service_touch
 *       notification of an access counter              uvmp_service_note
 *       cudaMemAdvise, cudaMemPrefetchAsync            uvmp_service_advise, uvmp_service_migrate
 *       cudaFree, munmap of a part                     uvmp_service_free_range, uvmp_service_free_part
 *       begin and end of a kernel                      uvmp_service_begin_kernel, uvmp_service_end_kernel
 *
 *  5. Perform the answers, until none is left. service.h lists the kinds of actions.
 *
 *       uvmp_service_next(service, now_ns, &action);   UVMP_OK: one action; UVMP_ERR_RETRY: none now;
 *                                                      UVMP_ERR_ARENA: uvmp_service_grow, then again
 *       uvmp_service_complete(service, action->id, status);
 *       uvmp_action_print(action, text, sizeof(text));   one line of the decision log
 *
 *     Then sleep until the next event or uvmp_service_wakeup_ns.
 *
 * Conventions
 *
 *   errors      A function returns an enum uvmp_status. A negative status means that nothing has changed,
 *               unless the function's comment says otherwise; uvmp_status_text explains it.
 *   units       Addresses and sizes are bytes, times are nanoseconds. Pages of a block are numbered from 0.
 *   ranges      [first, end). A field or argument that is the last page or byte itself is called `last`.
 *   processors  0 is the CPU, 1..63 are GPUs.
 *   zero        Zero in a structure of facts or parameters means "nothing special".
 *   size        Structures that may grow begin with their size (base.h): {.size = sizeof(x)}.
 *   memory      No function allocates, blocks, or keeps state outside of the caller's memory.
 *   threads     Calls on one object need a lock of the caller; calls on different objects do not.
 *
 *   header        | basic set
 *   --------------|----------------------------------------------------------------------------------------
 *   base.h        | status, types, version, structures that carry their size, random numbers
 *   processor.h   | processors and how they reach each other
 *   policy.h      | the policy string: parser, printer, keys, presets, needs
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
