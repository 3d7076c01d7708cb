"""The rules in the order in which they are tried: functions that return a detail, or raise.

`Broken` says that a rule does not hold, `Skip` that it does not apply; anything else that is raised is a failure of
that rule, too. A rule of one's own is one more function in the list.
"""

from __future__ import annotations

from collections.abc import Callable

from agentrl.check import calls, conduct, declaration, determinism, forking, isolation
from agentrl.check.subject import Subject

CHECKS: tuple[Callable[[Subject], str], ...] = (
    declaration.declares_itself,
    declaration.gymnasiums_own_checker_passes,
    declaration.schemas_accept_their_calls,
    declaration.sampled_calls_are_played,
    declaration.splits_are_known,
    determinism.same_seed_same_beginning,
    determinism.same_seed_same_random_episode,
    determinism.same_seed_same_expert_episode,
    determinism.same_in_other_processes,
    determinism.unseeded_episodes_can_be_replayed,
    determinism.different_seeds_different_tasks,
    determinism.no_global_randomness,
    determinism.the_async_face_shows_the_same,
    isolation.what_is_returned_stays,
    isolation.what_is_returned_may_be_changed,
    isolation.live_copies_do_not_disturb_each_other,
    isolation.threads_do_not_mix,
    forking.snapshots_have_one_future,
    forking.a_fork_can_be_forked,
    conduct.infos_are_json,
    conduct.observations_can_be_read,
    conduct.rewards_are_finite_and_sum,
    conduct.the_end_is_reported,
    conduct.state_keys_are_stable,
    conduct.the_expert_solves_it,
    calls.wrong_calls_are_answered,
    calls.any_text_is_answered,
    calls.every_call_is_answered,
    calls.every_call_is_executed_in_order,
    isolation.close_is_idempotent,
    isolation.nothing_is_left_behind,
)
