//! What people and programs see, drawn from the book and from what is heard.

use crate::ids::{CommandId, LiftId, TaskId, VehicleId};
use crate::task::{SuspendCause, TaskState};
use crate::time::{Millis, Now};
use crate::timing::{hold_limit, redelivery_wait};
use crate::wire::gateway::Connection;
use crate::wire::ledger::SessionPhase;
use crate::wire::live::Change;
use crate::wire::vehicle::{Instruction, Operation, Place, WorkState};
use crate::wire::view::{
    Activity, AlarmView, Hearing, Knowledge, LiftView, LiftWait, NodeView, OrderView, SessionView, TaskView,
    VehicleView,
};

use super::book::{SessionBook, TaskBook, Touched};
use super::ears::GATEWAY_SILENT_AFTER;
use super::voice::Voice;
use super::{Control, Effect};

impl Control {
    pub(super) fn touch_everything(&mut self) {
        self.touched.extend([Touched::Node, Touched::Nodes]);
        if self.config.drill {
            self.touched.insert(Touched::Drills);
        }
        self.touched.extend(self.book.tasks.keys().cloned().map(Touched::Task));
        self.touched.extend(self.plant.vehicles.keys().cloned().map(Touched::Vehicle));
        self.touched.extend(self.plant.lifts.keys().cloned().map(Touched::Lift));
        self.touched.extend(self.book.alarms.keys().cloned().map(Touched::Alarm));
    }

    /// What a ride waits for hangs on locks, claims, the ledger, silence and plain time: none of them knows which lifts
    /// it concerns.
    fn touch_other_waits(&mut self, now: Now) {
        for lift in self.plant.lifts.keys() {
            let told = self.waits_told.get(lift).map(Vec::as_slice).unwrap_or_default();
            if self.waits_at(lift, now) != told {
                self.touched.insert(Touched::Lift(lift.clone()));
            }
        }
    }

    /// Of the ride that holds the lift, then of those in line.
    fn waits_at(&self, lift: &LiftId, now: Now) -> Vec<LiftWait> {
        let ride = self.book.session_of(lift).map(|it| self.wait_of_ride(it, now));
        ride.into_iter().chain(self.waits_in_line(lift, now).into_iter().map(|(_, wait)| wait)).collect()
    }

    pub(super) fn show(&mut self, now: Now) {
        self.touch_other_waits(now);
        for touched in std::mem::take(&mut self.touched) {
            match touched {
                Touched::Task(id) => self.show_task(&id, now),
                Touched::Vehicle(id) => self.show_vehicle(&id, now),
                Touched::Lift(id) => self.show_lift(&id, now),
                Touched::Alarm(id) => {
                    let change = match self.book.alarms.get(&id) {
                        Some((alarm, raised_at)) => Change::Alarm(AlarmView {
                            id: alarm.id.clone(),
                            kind: alarm.kind,
                            subject: alarm.subject.clone(),
                            priority: alarm.kind.priority(),
                            detail: alarm.detail.clone(),
                            raised_at: *raised_at,
                        }),
                        None => Change::AlarmGone(id),
                    };
                    self.effects.push_back(Effect::Show(change));
                }
                Touched::Node => {
                    let change = Change::Node(self.node_view());
                    self.effects.push_back(Effect::Show(change));
                }
                Touched::Nodes => {
                    let change = Change::Nodes(self.peer_views(now));
                    self.effects.push_back(Effect::Show(change));
                }
                Touched::Drills => {
                    let drills = self.book.drills.iter().cloned().collect();
                    self.effects.push_back(Effect::Show(Change::Drills(drills)));
                }
            }
        }
    }

    fn node_view(&self) -> NodeView {
        NodeView {
            id: self.config.node.clone(),
            broker_connected: self.broker_connected,
            ledger_writable: self.ledger_writable(),
            messages_rejected: self.messages_rejected
                + self.gateways.values().map(|it| it.messages_rejected).sum::<u64>(),
            last_rejection: self.last_rejection.clone(),
            drill: self.config.drill,
        }
    }

    fn show_task(&mut self, id: &TaskId, now: Now) {
        let Some(task) = self.book.tasks.get(id) else {
            self.effects.push_back(Effect::Show(Change::TaskForgotten(id.clone())));
            return;
        };
        let order = OrderView {
            order: task.order.clone(),
            task: id.clone(),
            state: task.state.clone(),
            withdrawal_asked: task.withdrawal_asked,
            placed_at: task.placed_at,
            ended_at: task.ended_at,
        };
        let view = TaskView {
            id: id.clone(),
            order: task.order.id.clone(),
            from: task.order.from.clone(),
            to: task.order.to.clone(),
            priority: task.order.priority,
            state: task.state.clone(),
            withdrawal_asked: task.withdrawal_asked,
            knowledge: self.knowledge(task, now),
            activity: self.activity(id, task),
            vehicle: task.vehicle.clone(),
            claimed_by: task.claimed_by.clone(),
            claim: task.claim,
            since: task.since,
            ack_budget_ms: self.plant.link_budget.ack_deadline(),
            next_delivery_at: self.next_delivery(task, now),
        };
        self.effects.push_back(Effect::Show(Change::Order(order)));
        self.effects.push_back(Effect::Show(Change::Task(view)));
    }

    fn next_delivery(&self, task: &TaskBook, now: Now) -> Option<chrono::DateTime<chrono::Utc>> {
        use crate::task::ResumePoint;
        let TaskState::Suspended { cause: SuspendCause::Link, resume: ResumePoint::Command { attempt, .. } } =
            &task.state
        else {
            return None;
        };
        // In silence nothing is delivered, so nothing is due.
        if self.hearing(task.vehicle.as_ref()?, now) != Hearing::Heard {
            return None;
        }
        let wait = i64::try_from(redelivery_wait(*attempt).0).ok()?;
        task.since.checked_add_signed(chrono::TimeDelta::milliseconds(wait))
    }

    fn knowledge(&self, task: &TaskBook, now: Now) -> Knowledge {
        let Some(vehicle) = task.vehicle.as_ref().filter(|_| !task.state.is_terminal()) else {
            return Knowledge::Confirmed;
        };
        let ear = self.vehicles.get(vehicle);
        if let Some(heartbeat) = ear.and_then(|it| it.steady(now))
            && self.disagreement(vehicle, heartbeat).is_some()
        {
            return Knowledge::Contradicted;
        }
        let riding = self.book.sessions.values().any(|it| {
            it.vehicle == *vehicle && matches!(it.phase, SessionPhase::Riding | SessionPhase::Alighting)
        });
        match (self.hearing(vehicle, now), &task.state) {
            (Hearing::Heard, TaskState::Issued { .. }) => Knowledge::Unknown,
            (Hearing::Heard, _) => Knowledge::Confirmed,
            (Hearing::Silent, _) if riding => Knowledge::Assumed,
            (Hearing::Silent | Hearing::Never, _) => Knowledge::Unknown,
        }
    }

    fn activity(&self, id: &TaskId, task: &TaskBook) -> Activity {
        if task.state.is_terminal() {
            return Activity::Ended;
        }
        if task.vehicle.is_none() {
            return Activity::WaitsForVehicle;
        }
        if let Some(session) = self.book.session_for(id).filter(|it| !it.ride_done) {
            return riding(session);
        }
        let here =
            task.vehicle.as_ref().and_then(|it| self.vehicles.get(it)).and_then(|it| it.heartbeat.as_ref());
        let handling = here.is_some_and(|it| it.work == WorkState::Handling);
        match task.under_way().map(|it| &it.instruction) {
            Some(Instruction::Drive { then: Operation::Pick { .. }, .. }) if handling => Activity::Picks,
            Some(Instruction::Drive { then: Operation::Drop { .. }, .. }) if handling => Activity::Drops,
            Some(Instruction::Drive { .. } | Instruction::Ride { .. } | Instruction::OpenLink) | None => {
                if task.picked {
                    Activity::DrivesToDrop
                } else {
                    Activity::DrivesToPick
                }
            }
        }
    }

    fn show_vehicle(&mut self, id: &VehicleId, now: Now) {
        let Some(ear) = self.vehicles.get(id) else { return };
        let heartbeat = ear.heartbeat.as_ref();
        let (place, placed_at) = match &ear.place {
            Some((place, at)) => (place.clone(), Some(*at)),
            None => (Place::Unknown, None),
        };
        let view = VehicleView {
            id: id.clone(),
            place,
            placed_at,
            hearing: ear.hearing(now),
            heard_at: ear.heard_at,
            work: heartbeat.map_or(WorkState::Idle, |it| it.work),
            load: heartbeat.and_then(|it| it.load.clone()),
            task: self.book.task_of(id).map(|(task, _)| task.clone()),
            battery_pct: ear.telemetry.as_ref().map(|it| it.battery_pct),
            rssi_dbm: ear.telemetry.as_ref().map(|it| it.rssi_dbm),
            link: heartbeat.map(|it| it.link).unwrap_or_default(),
            link_open: heartbeat.is_some_and(|it| it.link_open),
        };
        // What a task is known to do hangs on whether its vehicle is heard.
        if let Some(task) = view.task.clone() {
            self.show_task(&task, now);
        }
        self.effects.push_back(Effect::Show(Change::Vehicle(view)));
    }

    pub(super) fn gateway_hearing(&self, lift: &LiftId, now: Now) -> Hearing {
        let gateway = self.plant.lifts.get(lift).and_then(|it| self.gateways.get(&it.gateway));
        match gateway {
            None => Hearing::Never,
            Some(ear) if now.mono.since(ear.at) <= GATEWAY_SILENT_AFTER => Hearing::Heard,
            Some(_) => Hearing::Silent,
        }
    }

    fn show_lift(&mut self, id: &LiftId, now: Now) {
        let Some(lift) = self.plant.lifts.get(id) else { return };
        let ear = self.lifts.get(id);
        let limit = hold_limit(lift);
        let ride = self.book.session_of(id).map(|it| session_view(it, limit, self.wait_of_ride(it, now)));
        let line = self.waits_in_line(id, now).into_iter();
        let line: Vec<_> = line.map(|(session, wait)| session_view(session, limit, wait)).collect();
        let told = ride.iter().chain(&line).map(|it| it.waits.clone()).collect();
        let view = LiftView {
            id: id.clone(),
            gateway: lift.gateway.clone(),
            gateway_hearing: self.gateway_hearing(id, now),
            connection: ear.map_or(Connection::Unknown, |it| it.reading.connection),
            connections_lost: ear.map_or(0, |it| it.reading.connections_lost),
            status: ear.and_then(|it| it.reading.status.clone()),
            read_at: ear.filter(|it| it.reading.status.is_some()).map(|it| it.read_at),
            verifying: self.verified(id),
            settling: self.settling(id, now),
            arbitration: self.arbitration(id),
            epoch: ear.map(|it| it.reading.epoch),
            lease: self.lease_view(id, now),
            session: ride,
            waiting: line,
            commands: self.spoken.get(id).into_iter().flatten().map(|(_, view)| view.clone()).collect(),
        };
        self.waits_told.insert(id.clone(), told);
        self.effects.push_back(Effect::Show(Change::Lift(view)));
    }

    /// The command whose outcome is not known: the gateway's word counts before this node's own doubt.
    pub(super) fn verified(&self, lift: &LiftId) -> Option<CommandId> {
        let told = self.lifts.get(lift).and_then(|it| it.reading.verifying.clone());
        told.or_else(|| match self.voices.get(lift) {
            Some(Voice::Verifying(doubt)) => Some(doubt.command.clone()),
            Some(
                Voice::Quiet { .. }
                | Voice::Asking { .. }
                | Voice::Deciding { .. }
                | Voice::Calling(_)
                | Voice::Joined { .. }
                | Voice::Sent { .. },
            )
            | None => None,
        })
    }

    /// Those who wait, first come first, and each for the one before it.
    fn waits_in_line(&self, lift: &LiftId, now: Now) -> Vec<(&SessionBook, LiftWait)> {
        let mut after = self.book.session_of(lift).map(|it| it.vehicle.clone());
        let line = self.book.waiting_for(lift).into_iter();
        line.map(|session| {
            let before = after.replace(session.vehicle.clone());
            (session, self.wait_in_line(session, before.as_ref(), now))
        })
        .collect()
    }
}

fn riding(session: &SessionBook) -> Activity {
    let lift = session.lift.clone();
    match session.phase {
        SessionPhase::Requested | SessionPhase::Queued | SessionPhase::Granted => {
            Activity::WaitsForLift { lift }
        }
        SessionPhase::Boarding => Activity::Boards { lift },
        SessionPhase::Riding => Activity::Rides { lift, to: session.to.clone() },
        SessionPhase::Alighting | SessionPhase::Released | SessionPhase::Forced => Activity::Alights { lift },
    }
}

fn session_view(session: &SessionBook, hold_limit_ms: Millis, waits: LiftWait) -> SessionView {
    SessionView {
        id: session.id.clone(),
        vehicle: session.vehicle.clone(),
        task: session.task.clone(),
        from: session.from.clone(),
        to: session.to.clone(),
        phase: session.phase,
        generation: session.generation,
        since: session.since,
        hold_limit_ms,
        waits,
    }
}
