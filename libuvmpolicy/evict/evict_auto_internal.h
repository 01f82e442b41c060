/* The state of the order auto, for evict_auto.c and its tests. */
#ifndef UVMPOLICY_EVICT_AUTO_INTERNAL_H
#define UVMPOLICY_EVICT_AUTO_INTERNAL_H

#include "recency_internal.h"

#define AUTO_UNIT_PAGES 16u
#define AUTO_BATCHES	3 /* what arrived in the present batch and in the last two stays */

enum auto_rule { AUTO_OLDEST, AUTO_KEEP, AUTO_RULES };

/* UVMP_EVICT_GROUP_UNITS units. */
struct auto_group {
	uint32_t left;	/* clock at which units of the group left last */
	uint32_t batch; /* order->batch[0] when units came last */
	uint8_t departed; /* units that left and have not returned, 0..UVMP_EVICT_GROUP_UNITS */
	uint8_t rule;	/* that chose those which left last */
	uint8_t burst;	/* units that came in that batch */
	uint8_t listed; /* units that are listed */
	uint8_t tenant; /* the owner of the block */
	bool is_whole;	/* half of it or more came in one batch, since none was listed */
};

struct auto_tenant {
	uint32_t listed;   /* units */
	uint32_t evicted;  /* units, lately */
	uint32_t returned; /* of these within a turn of memory */
};

struct auto_order {
	struct recency list;
	uint32_t *stamp;	       /* [units] of a fresh unit: arrivals when it became the newest; 0: of an old one */
	struct auto_group *group;      /* [groups] */
	uint32_t arrivals;	       /* units that became the newest */
	uint32_t batch[AUTO_BATCHES];  /* arrivals before the present batch of faults, and before earlier ones */
	uint32_t window;	       /* link of the oldest fresh unit; 0: none */
	uint32_t fresh;		       /* units from there on */
	uint32_t clock;		       /* units that were evicted */
	uint32_t turn;		       /* the same, under the present rule */
	uint32_t judged;	       /* clock at which the block left that returned last */
	uint32_t score;		       /* of returns in order, 0..2^16 */
	uint32_t unordered;	       /* clock at which the score was last too low for keep */
	uint32_t wait, gap;	       /* units that leave before keep may begin; turns to wait next time */
	uint32_t evicted[AUTO_RULES];  /* units, by the rule that chose them; under keep only */
	uint32_t regret[AUTO_RULES];   /* their returns, weighted */
	struct auto_tenant tenant[UVMP_EVICT_TENANTS];
	uint32_t tenants; /* with listed units */
	uint32_t spared;  /* victims that were protected, samples among them */
	uint8_t asker;	  /* tenant of the last touch */
	uint8_t rule, chosen;	       /* the present rule; that of the last victim */
	struct recency_link link[];    /* [units + 1], then stamps and groups */
};

#endif
