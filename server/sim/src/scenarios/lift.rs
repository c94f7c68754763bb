//! Accidents on the way to a lift: what is late, doubled, unanswered, or rests on a view that has gone.

use super::{Group, Scenario, Script, State};

mod edge;
mod plc;
mod road;
mod voices;

const fn built(name: &'static str, what: &'static str, script: Script) -> Scenario {
    Scenario { name, group: Group::Lift, what, state: State::Built(script) }
}

pub(super) const SCENARIOS: &[Scenario] = &[
    built("double_dispatch_70ms", "Two nodes command one lift within 70 ms.", voices::DOUBLE_DISPATCH),
    built("duplicate_floor_call", "One call of a lift arrives twice.", road::DUPLICATE_CALL),
    built(
        "stale_read_overwrites",
        "People call the car away while a command is on its way that saw it elsewhere.",
        road::STALE_READ,
    ),
    built(
        "ack_lost_after_move",
        "The car moves, and the answer that says so is lost with the connection.",
        plc::ACK_LOST,
    ),
    built(
        "pause_35s_two_in_car",
        "A node stands still for longer than its lease lives, and goes on as if it had it.",
        voices::PAUSE_35S,
    ),
    built("foreign_unlock", "A node frees a lease that is another's by now.", voices::FOREIGN_UNLOCK),
    built(
        "clock_step",
        "Clocks of node, gateway and lease store are set while a command is late.",
        road::CLOCK_STEP,
    ),
    built("clock_step_3s", "The same clocks are set by no more than three seconds.", road::CLOCK_STEP_3S),
    built(
        "lease_store_partition_belief",
        "A node that lost the lease store believes that it holds a lift.",
        voices::PARTITION_BELIEF,
    ),
    built(
        "lease_store_restart_empty",
        "The lease store comes back without its grants.",
        voices::RESTART_EMPTY,
    ),
    built(
        "equal_tokens_promoted_replica",
        "A replica of the lease store gives one token to two holders.",
        voices::EQUAL_TOKENS,
    ),
    built(
        "lease_store_down_31s",
        "No node reaches the lease store for 31 s, and soon again.",
        edge::STORE_DOWN,
    ),
    built(
        "one_node_cut_off_others_healthy",
        "One node alone does not reach the lease store.",
        edge::ONE_CUT_OFF,
    ),
    built(
        "edge_exit_with_queue",
        "Leases count again while edge commands are queued.",
        edge::EXIT_WITH_QUEUE,
    ),
    built(
        "edge_call_into_occupied_car",
        "In edge mode a lift with a rider is called.",
        edge::INTO_OCCUPIED_CAR,
    ),
    built(
        "takeover_fresh_token",
        "A node that lost its task gets a fresh lease and speaks for it.",
        voices::FRESH_TOKEN,
    ),
    built("late_lift_command", "A command for a lift is five seconds on its way.", road::LATE_COMMAND),
    built(
        "gateway_restart_mid_command",
        "A gateway dies between a write and its echo, and the command comes once more.",
        plc::GATEWAY_RESTART,
    ),
    built(
        "plc_closes_mid_command",
        "A PLC closes its connection in the middle of a write that it has taken.",
        plc::CLOSES,
    ),
    built(
        "plc_without_echo",
        "The answer to a write is lost, and the PLC echoes nothing: only the lift shows that it ran.",
        plc::WITHOUT_ECHO,
    ),
    built(
        "plc_reboot_sequence_zero",
        "A PLC starts again after it took a command, and shows the number 0.",
        plc::REBOOT,
    ),
    built(
        "plc_frozen_registers",
        "A PLC stands still and answers every read with what was true before.",
        plc::FROZEN,
    ),
    built("foreign_command", "The car moves and nobody commanded it.", plc::FOREIGN),
    built("lost_reply_of_acquire", "The grant of a lease is lost on its way back.", voices::LOST_REPLY),
];
