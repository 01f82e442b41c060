/* Exports every public function of the library. test: tests/cli/exports.sh.
 *
 * EXPORT_SYMBOL, not _GPL: the licence is MIT; drivers choose their own. */
#include <linux/export.h>

#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>

/* adapt.h */
EXPORT_SYMBOL(uvmp_pattern_init);
EXPORT_SYMBOL(uvmp_pattern_is_valid);
EXPORT_SYMBOL(uvmp_pattern_watch);
EXPORT_SYMBOL(uvmp_pattern_launch);
EXPORT_SYMBOL(uvmp_pattern_end);
EXPORT_SYMBOL(uvmp_pattern_log);
EXPORT_SYMBOL(uvmp_pattern_of);
EXPORT_SYMBOL(uvmp_pattern_decide);
EXPORT_SYMBOL(uvmp_threshold_params_init);
EXPORT_SYMBOL(uvmp_threshold_params_is_valid);
EXPORT_SYMBOL(uvmp_threshold_init);
EXPORT_SYMBOL(uvmp_threshold_step);
EXPORT_SYMBOL(uvmp_early_params_init);
EXPORT_SYMBOL(uvmp_early_params_is_valid);
EXPORT_SYMBOL(uvmp_early_init);
EXPORT_SYMBOL(uvmp_early_fault);
EXPORT_SYMBOL(uvmp_early_evict);
EXPORT_SYMBOL(uvmp_lifetime_init);
EXPORT_SYMBOL(uvmp_lifetime_allocate);
EXPORT_SYMBOL(uvmp_lifetime_evict);
EXPORT_SYMBOL(uvmp_lifetime_free);
EXPORT_SYMBOL(uvmp_lifetime_mean);
EXPORT_SYMBOL(uvmp_threads_params_init);
EXPORT_SYMBOL(uvmp_threads_params_is_valid);
EXPORT_SYMBOL(uvmp_threads_init);
EXPORT_SYMBOL(uvmp_threads_step);
EXPORT_SYMBOL(uvmp_throttle_params_init);
EXPORT_SYMBOL(uvmp_throttle_params_is_valid);
EXPORT_SYMBOL(uvmp_throttle_init);
EXPORT_SYMBOL(uvmp_throttle_step);
EXPORT_SYMBOL(uvmp_etc_classify);
EXPORT_SYMBOL(uvmp_etc_techniques);
EXPORT_SYMBOL(uvmp_etc_evicts_ahead);
EXPORT_SYMBOL(uvmp_etc_capacity);
EXPORT_SYMBOL(uvmp_controller_name);
EXPORT_SYMBOL(uvmp_cyclic_params_init);
EXPORT_SYMBOL(uvmp_cyclic_params_is_valid);
EXPORT_SYMBOL(uvmp_cyclic_init);
EXPORT_SYMBOL(uvmp_cyclic_is_valid);
EXPORT_SYMBOL(uvmp_cyclic_evict);
EXPORT_SYMBOL(uvmp_cyclic_return);
EXPORT_SYMBOL(uvmp_cyclic_free);
EXPORT_SYMBOL(uvmp_cyclic_release);

/* base.h */
EXPORT_SYMBOL(uvmp_version);
EXPORT_SYMBOL(uvmp_version_number);
EXPORT_SYMBOL(uvmp_status_text);
EXPORT_SYMBOL(uvmp_random_next);
EXPORT_SYMBOL(uvmp_random_below);

/* counter.h */
EXPORT_SYMBOL(uvmp_counter_derive_sizes);
EXPORT_SYMBOL(uvmp_counter_is_enabled);
EXPORT_SYMBOL(uvmp_counter_max_batch);
EXPORT_SYMBOL(uvmp_counter_threshold);
EXPORT_SYMBOL(uvmp_counter_is_serviced);
EXPORT_SYMBOL(uvmp_counter_maps_evicted);
EXPORT_SYMBOL(uvmp_counter_expand);
EXPORT_SYMBOL(uvmp_counter_filter);
EXPORT_SYMBOL(uvmp_counter_settle);
EXPORT_SYMBOL(uvmp_counter_clears);
EXPORT_SYMBOL(uvmp_counter_clears_all);
EXPORT_SYMBOL(uvmp_counter_tree_init);
EXPORT_SYMBOL(uvmp_counter_tree_is_valid);
EXPORT_SYMBOL(uvmp_counter_tree_count);
EXPORT_SYMBOL(uvmp_counter_tree_rounds);
EXPORT_SYMBOL(uvmp_counter_tree_word);
EXPORT_SYMBOL(uvmp_counter_tree_marks);
EXPORT_SYMBOL(uvmp_counter_tree_clear_marks);
EXPORT_SYMBOL(uvmp_counter_tree_round_trip);
EXPORT_SYMBOL(uvmp_counter_record);
EXPORT_SYMBOL(uvmp_counter_halve);
EXPORT_SYMBOL(uvmp_remote_name);
EXPORT_SYMBOL(uvmp_remote_params_init);
EXPORT_SYMBOL(uvmp_remote_decide);
EXPORT_SYMBOL(uvmp_remote_add);
EXPORT_SYMBOL(uvmp_remote_pays);
EXPORT_SYMBOL(uvmp_remote_moved);
EXPORT_SYMBOL(uvmp_remote_is_chosen);
EXPORT_SYMBOL(uvmp_remote_begins);
EXPORT_SYMBOL(uvmp_remote_returned);

/* evict.h */
EXPORT_SYMBOL(uvmp_evict_name);
EXPORT_SYMBOL(uvmp_evict_traits_of);
EXPORT_SYMBOL(uvmp_evict_unit_pages);
EXPORT_SYMBOL(uvmp_evict_size);
EXPORT_SYMBOL(uvmp_evict_grow);
EXPORT_SYMBOL(uvmp_evict_init);
EXPORT_SYMBOL(uvmp_evict_is_valid);
EXPORT_SYMBOL(uvmp_evict_touch);
EXPORT_SYMBOL(uvmp_evict_own);
EXPORT_SYMBOL(uvmp_evict_weigh);
EXPORT_SYMBOL(uvmp_evict_spare);
EXPORT_SYMBOL(uvmp_evict_contains);
EXPORT_SYMBOL(uvmp_evict_remove);
EXPORT_SYMBOL(uvmp_evict_remove_set);
EXPORT_SYMBOL(uvmp_evict_forget);
EXPORT_SYMBOL(uvmp_evict_batch);
EXPORT_SYMBOL(uvmp_evict_left);
EXPORT_SYMBOL(uvmp_evict_victim);
EXPORT_SYMBOL(uvmp_evict_next);
EXPORT_SYMBOL(uvmp_evict_closure);
EXPORT_SYMBOL(uvmp_evict_chosen);
EXPORT_SYMBOL(uvmp_evict_together);
EXPORT_SYMBOL(uvmp_evict_tbn_closure);

/* fault.h */
EXPORT_SYMBOL(uvmp_fault_buffer_is_valid);
EXPORT_SYMBOL(uvmp_fault_pending);
EXPORT_SYMBOL(uvmp_fault_batch_is_valid);
EXPORT_SYMBOL(uvmp_fault_max_batch);
EXPORT_SYMBOL(uvmp_fault_fetch);
EXPORT_SYMBOL(uvmp_fault_flush);
EXPORT_SYMBOL(uvmp_fault_representatives);
EXPORT_SYMBOL(uvmp_fault_order_batch);
EXPORT_SYMBOL(uvmp_fault_order_by_instance);
EXPORT_SYMBOL(uvmp_fault_order);
EXPORT_SYMBOL(uvmp_fault_is_same_page);
EXPORT_SYMBOL(uvmp_fault_bin_next);
EXPORT_SYMBOL(uvmp_access_right);
EXPORT_SYMBOL(uvmp_fault_classify);

/* geometry.h */
EXPORT_SYMBOL(uvmp_geometry_init);
EXPORT_SYMBOL(uvmp_geometry_is_valid);
EXPORT_SYMBOL(uvmp_block_is_valid);
EXPORT_SYMBOL(uvmp_geometry_block_count);
EXPORT_SYMBOL(uvmp_geometry_block_index);
EXPORT_SYMBOL(uvmp_geometry_block);
EXPORT_SYMBOL(uvmp_block_from_shape);
EXPORT_SYMBOL(uvmp_block_big_pages);
EXPORT_SYMBOL(uvmp_block_chunk);
EXPORT_SYMBOL(uvmp_allocation_round);

/* mask.h */
EXPORT_SYMBOL(uvmp_mask_zero);
EXPORT_SYMBOL(uvmp_mask_copy);
EXPORT_SYMBOL(uvmp_mask_is_empty);
EXPORT_SYMBOL(uvmp_mask_equal);
EXPORT_SYMBOL(uvmp_mask_intersects);
EXPORT_SYMBOL(uvmp_mask_is_subset);
EXPORT_SYMBOL(uvmp_mask_weight);
EXPORT_SYMBOL(uvmp_mask_or);
EXPORT_SYMBOL(uvmp_mask_and);
EXPORT_SYMBOL(uvmp_mask_andnot);
EXPORT_SYMBOL(uvmp_mask_shift_up);
EXPORT_SYMBOL(uvmp_mask_shift_down);
EXPORT_SYMBOL(uvmp_region_intersect);
EXPORT_SYMBOL(uvmp_mask_region_set);
EXPORT_SYMBOL(uvmp_mask_region_clear);
EXPORT_SYMBOL(uvmp_mask_region_weight);
EXPORT_SYMBOL(uvmp_mask_region_any);
EXPORT_SYMBOL(uvmp_mask_region_all);
EXPORT_SYMBOL(uvmp_mask_region_and);
EXPORT_SYMBOL(uvmp_mask_next_set);
EXPORT_SYMBOL(uvmp_mask_next_clear);
EXPORT_SYMBOL(uvmp_mask_bounds);
EXPORT_SYMBOL(uvmp_mask_next_run);

/* plan.h */
EXPORT_SYMBOL(uvmp_plan_copies);
EXPORT_SYMBOL(uvmp_plan_name);
EXPORT_SYMBOL(uvmp_plan_merge);
EXPORT_SYMBOL(uvmp_next_transfer);
EXPORT_SYMBOL(uvmp_count_transfers);

/* plugin.h */
EXPORT_SYMBOL(uvmp_prefetch_params_init_plugin);
EXPORT_SYMBOL(uvmp_evict_plugin_size);
EXPORT_SYMBOL(uvmp_evict_init_plugin);
EXPORT_SYMBOL(uvmp_plugins_check);
EXPORT_SYMBOL(uvmp_policy_parse_plugins_size);

/* pmm.h */
EXPORT_SYMBOL(uvmp_pmm_size);
EXPORT_SYMBOL(uvmp_pmm_init);
EXPORT_SYMBOL(uvmp_pmm_is_valid);
EXPORT_SYMBOL(uvmp_pmm_check);
EXPORT_SYMBOL(uvmp_pmm_alloc);
EXPORT_SYMBOL(uvmp_pmm_unpin);
EXPORT_SYMBOL(uvmp_pmm_free);
EXPORT_SYMBOL(uvmp_pmm_mark);
EXPORT_SYMBOL(uvmp_pmm_touch);
EXPORT_SYMBOL(uvmp_pmm_evict_begin);
EXPORT_SYMBOL(uvmp_pmm_evict_root);
EXPORT_SYMBOL(uvmp_pmm_evict_next);
EXPORT_SYMBOL(uvmp_pmm_evict_peek);
EXPORT_SYMBOL(uvmp_pmm_evict_end);
EXPORT_SYMBOL(uvmp_pmm_evict_abort);
EXPORT_SYMBOL(uvmp_pmm_evict_release);
EXPORT_SYMBOL(uvmp_pmm_first);
EXPORT_SYMBOL(uvmp_pmm_next);
EXPORT_SYMBOL(uvmp_pmm_in_pool);
EXPORT_SYMBOL(uvmp_pmm_count);

/* policy.h */
EXPORT_SYMBOL(uvmp_policy_init_size);
EXPORT_SYMBOL(uvmp_policy_is_valid);
EXPORT_SYMBOL(uvmp_policy_prefetch_traits);
EXPORT_SYMBOL(uvmp_policy_evict_traits);
EXPORT_SYMBOL(uvmp_policy_evict_name);
EXPORT_SYMBOL(uvmp_policy_unit_pages);
EXPORT_SYMBOL(uvmp_policy_needs);
EXPORT_SYMBOL(uvmp_policy_evictors);
EXPORT_SYMBOL(uvmp_policy_parse_size);
EXPORT_SYMBOL(uvmp_policy_print);
EXPORT_SYMBOL(uvmp_policy_key_at);
EXPORT_SYMBOL(uvmp_policy_preset_at);
EXPORT_SYMBOL(uvmp_policy_choice);
EXPORT_SYMBOL(uvmp_policy_choice_summary);

/* prefetch.h */
EXPORT_SYMBOL(uvmp_prefetch_name);
EXPORT_SYMBOL(uvmp_prefetch_traits_of);
EXPORT_SYMBOL(uvmp_prefetch_params_init);
EXPORT_SYMBOL(uvmp_prefetch_params_is_valid);
EXPORT_SYMBOL(uvmp_prefetch_left);
EXPORT_SYMBOL(uvmp_prefetch_touched);
EXPORT_SYMBOL(uvmp_prefetch_state_init);
EXPORT_SYMBOL(uvmp_prefetch_state_is_valid);
EXPORT_SYMBOL(uvmp_prefetch_decide);
EXPORT_SYMBOL(uvmp_prefetch_check);
EXPORT_SYMBOL(uvmp_prefetch_subtree);
EXPORT_SYMBOL(uvmp_prefetch_ats);
EXPORT_SYMBOL(uvmp_prefetch_groups);

/* pressure.h */
EXPORT_SYMBOL(uvmp_pressure_is_valid);
EXPORT_SYMBOL(uvmp_pressure_is_over);
EXPORT_SYMBOL(uvmp_pressure_scale);

/* processor.h */
EXPORT_SYMBOL(uvmp_processors_init);
EXPORT_SYMBOL(uvmp_processors_is_valid);
EXPORT_SYMBOL(uvmp_accessible_from);
EXPORT_SYMBOL(uvmp_closest_processor);

/* replay.h */
EXPORT_SYMBOL(uvmp_replay_name);
EXPORT_SYMBOL(uvmp_replay_update_put);
EXPORT_SYMBOL(uvmp_prefetch_toggle_update);
EXPORT_SYMBOL(uvmp_replay_init);
EXPORT_SYMBOL(uvmp_replay_is_valid);
EXPORT_SYMBOL(uvmp_replay_start);
EXPORT_SYMBOL(uvmp_replay_step);

/* residency.h */
EXPORT_SYMBOL(uvmp_residency_can_duplicate);
EXPORT_SYMBOL(uvmp_residency_select);
EXPORT_SYMBOL(uvmp_residency_node);
EXPORT_SYMBOL(uvmp_residency_map);
EXPORT_SYMBOL(uvmp_residency_map_levels);

/* service.h */
EXPORT_SYMBOL(uvmp_service_params_check);
EXPORT_SYMBOL(uvmp_service_size);
EXPORT_SYMBOL(uvmp_service_init);
EXPORT_SYMBOL(uvmp_service_grow);
EXPORT_SYMBOL(uvmp_service_memory_used);
EXPORT_SYMBOL(uvmp_service_needs);
EXPORT_SYMBOL(uvmp_service_is_valid);
EXPORT_SYMBOL(uvmp_service_check);
EXPORT_SYMBOL(uvmp_service_bind);
EXPORT_SYMBOL(uvmp_service_unbind);
EXPORT_SYMBOL(uvmp_service_add_range);
EXPORT_SYMBOL(uvmp_service_free_range);
EXPORT_SYMBOL(uvmp_service_free_part);
EXPORT_SYMBOL(uvmp_service_advise);
EXPORT_SYMBOL(uvmp_service_migrate);
EXPORT_SYMBOL(uvmp_service_withdraw);
EXPORT_SYMBOL(uvmp_service_cpu_fault);
EXPORT_SYMBOL(uvmp_service_fault);
EXPORT_SYMBOL(uvmp_service_note);
EXPORT_SYMBOL(uvmp_service_access);
EXPORT_SYMBOL(uvmp_service_touch);
EXPORT_SYMBOL(uvmp_service_synchronise);
EXPORT_SYMBOL(uvmp_service_has_notes);
EXPORT_SYMBOL(uvmp_service_begin_kernel);
EXPORT_SYMBOL(uvmp_service_end_kernel);
EXPORT_SYMBOL(uvmp_service_miss);
EXPORT_SYMBOL(uvmp_service_hold);
EXPORT_SYMBOL(uvmp_service_next);
EXPORT_SYMBOL(uvmp_service_complete);
EXPORT_SYMBOL(uvmp_service_complete_pages);
EXPORT_SYMBOL(uvmp_service_pending);
EXPORT_SYMBOL(uvmp_service_wakeup_ns);
EXPORT_SYMBOL(uvmp_service_page);
EXPORT_SYMBOL(uvmp_service_count);
EXPORT_SYMBOL(uvmp_action_print);
EXPORT_SYMBOL(uvmp_completion_print);
EXPORT_SYMBOL(uvmp_action_parse);
EXPORT_SYMBOL(uvmp_action_name);
EXPORT_SYMBOL(uvmp_action_next_transfer);
EXPORT_SYMBOL(uvmp_action_transfers);
EXPORT_SYMBOL(uvmp_action_faulted);
EXPORT_SYMBOL(uvmp_cause_name);

/* thrash.h */
EXPORT_SYMBOL(uvmp_thrash_params_init);
EXPORT_SYMBOL(uvmp_thrash_space_init);
EXPORT_SYMBOL(uvmp_thrash_space_is_valid);
EXPORT_SYMBOL(uvmp_thrash_block_init);
EXPORT_SYMBOL(uvmp_thrash_block_is_valid);
EXPORT_SYMBOL(uvmp_thrash_array_size);
EXPORT_SYMBOL(uvmp_thrash_block_give);
EXPORT_SYMBOL(uvmp_thrash_block_take);
EXPORT_SYMBOL(uvmp_thrash_block_end);
EXPORT_SYMBOL(uvmp_thrash_effect_of);
EXPORT_SYMBOL(uvmp_thrash_migrate);
EXPORT_SYMBOL(uvmp_thrash_revoke);
EXPORT_SYMBOL(uvmp_thrash_reset);
EXPORT_SYMBOL(uvmp_thrash_decide);
EXPORT_SYMBOL(uvmp_thrash_unpin_us);
EXPORT_SYMBOL(uvmp_thrash_unpin_is_due);
EXPORT_SYMBOL(uvmp_thrash_unpin);

/* tree.h */
EXPORT_SYMBOL(uvmp_tree_init);
EXPORT_SYMBOL(uvmp_tree_is_valid);
EXPORT_SYMBOL(uvmp_tree_leaf);
EXPORT_SYMBOL(uvmp_tree_set_leaf);
EXPORT_SYMBOL(uvmp_tree_add);
EXPORT_SYMBOL(uvmp_tree_sub);
EXPORT_SYMBOL(uvmp_tree_recompute);
EXPORT_SYMBOL(uvmp_tree_assign);
