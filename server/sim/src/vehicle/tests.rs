use kernel::ids::Generation;
use kernel::wire::vehicle::{AckVerdict, Instruction, Progress, VehicleCommand, VehicleRefusal};

use super::*;
use crate::fixture::{
    command, drive, floor, lift, order, path, pick, plant, point, put, ride, task, vehicle,
};

mod frozen;
mod radio;

/// Runs vehicle V1, from point H1, and collects what it does.
struct Bench {
    model: VehicleModel,
    now: Mono,
    seen: Vec<VehicleEffect>,
}

impl Bench {
    fn at(start: &str, load: Option<&str>, memory: VehicleMemory) -> Self {
        let plant = plant();
        let start = VehicleStart {
            id: vehicle("V1"),
            vehicle: plant.vehicles[&vehicle("V1")].clone(),
            point: point(start),
            load: load.map(order),
            memory,
        };
        let model = VehicleModel::new(start, Arc::new(Ways::new(&plant)), 1, Mono(0));
        Self { model, now: Mono(0), seen: Vec::new() }
    }

    /// Connected, with link generation 1 open by command C1.
    fn open_at(start: &str, load: Option<&str>) -> Self {
        let mut bench = Self::at(start, load, VehicleMemory::empty(0));
        bench.model.connect();
        assert_eq!(bench.tell(&command("V1", 1, Instruction::OpenLink)), AckVerdict::Accepted);
        bench
    }

    fn open() -> Self {
        Self::open_at("H1", None)
    }

    fn collect(&mut self) {
        while let Some(effect) = self.model.poll_effect() {
            self.seen.push(effect);
        }
    }

    /// Gives a command and returns the answer.
    fn tell(&mut self, command: &VehicleCommand) -> AckVerdict {
        self.model.command(command, self.now);
        self.collect();
        self.acks().pop().expect("every command is answered").verdict
    }

    fn refusal(&mut self, command: &VehicleCommand) -> Option<VehicleRefusal> {
        match self.tell(command) {
            AckVerdict::Accepted => None,
            AckVerdict::Refused { reason } => Some(reason),
        }
    }

    /// Lets time go by, with control beats.
    fn run(&mut self, span: Millis) {
        self.run_with(span, true);
    }

    fn run_with(&mut self, span: Millis, beats: bool) {
        let end = self.now + span;
        while self.now < end {
            self.now = Mono(self.now.0 + 100).min(end);
            if beats {
                self.model.hear_beat(self.now);
            }
            while self.model.due() <= self.now {
                let due = self.model.due();
                self.model.step(due);
            }
        }
        self.collect();
    }

    fn acks(&self) -> Vec<VehicleAck> {
        let ack = |effect: &VehicleEffect| {
            let VehicleEffect::Send(VehicleMessage::Ack(ack)) = effect else { return None };
            Some(ack.clone())
        };
        self.seen.iter().filter_map(ack).collect()
    }

    fn reports(&self) -> Vec<VehicleReport> {
        let report = |effect: &VehicleEffect| {
            let VehicleEffect::Send(VehicleMessage::Report(report)) = effect else { return None };
            Some(report.clone())
        };
        self.seen.iter().filter_map(report).collect()
    }

    fn progress(&self) -> Vec<Progress> {
        self.reports().into_iter().map(|it| it.progress).collect()
    }

    fn telemetry(&self) -> Vec<Telemetry> {
        let sample = |effect: &VehicleEffect| {
            let VehicleEffect::Send(VehicleMessage::Telemetry(telemetry)) = effect else { return None };
            Some(telemetry.clone())
        };
        self.seen.iter().filter_map(sample).collect()
    }

    fn heartbeat(&self) -> Heartbeat {
        let beat = |effect: &VehicleEffect| {
            let VehicleEffect::Send(VehicleMessage::Heartbeat(beat)) = effect else { return None };
            Some(beat.as_ref().clone())
        };
        self.seen.iter().rev().find_map(beat).expect("it beats")
    }
}

/// Seen before a car that stands open at a floor.
fn car(open_at: Option<&str>) -> CarView {
    CarView { open_at: open_at.map(floor), radio_passes: open_at.is_some(), has_room: true, sill_free: true }
}

#[test]
fn a_drive_takes_its_time_and_is_reported() {
    let mut bench = Bench::open();
    bench.tell(&command("V1", 2, drive(&["H1", "S1", "W1"])));
    assert_eq!(bench.progress(), [Progress::Started]);
    bench.run(Millis(3000));
    let halfway =
        kernel::wire::vehicle::Place::Between { from: point("H1"), to: point("S1"), progress_pct: 50 };
    assert_eq!(bench.model.place(bench.now), halfway);
    bench.run(Millis(6900));
    assert_eq!(bench.progress(), [Progress::Started]);
    bench.run(Millis(100));
    assert_eq!(bench.progress(), [Progress::Started, Progress::Done]);
    assert_eq!(bench.model.place(bench.now), kernel::wire::vehicle::Place::At { point: point("W1") });
    bench.run(Millis::seconds(1));
    let beat = bench.heartbeat();
    assert_eq!(beat.completions, [crate::fixture::command_id("C2")]);
    assert_eq!((beat.command, beat.acknowledged, beat.window_floor), (None, 2, 1));
}

#[test]
fn it_creeps_before_the_doors() {
    let mut bench = Bench::open_at("W1", None);
    bench.tell(&command("V1", 2, drive(&["W1", "D1"])));
    bench.run(Millis(9900));
    assert_eq!(bench.progress(), [Progress::Started], "3 m at 0.3 m/s");
    bench.run(Millis(100));
    assert_eq!(bench.progress(), [Progress::Started, Progress::Done]);
}

#[test]
fn a_repeat_gets_the_same_answer_and_nothing_is_done_twice() {
    let mut bench = Bench::open();
    let first = command("V1", 2, pick(&["H1", "S1"], "O1"));
    bench.tell(&first);
    bench.tell(&first);
    bench.run(Millis::seconds(20));
    bench.tell(&first);
    bench.run(Millis::seconds(20));
    assert_eq!(bench.acks()[1..].iter().filter(|it| it.verdict == AckVerdict::Accepted).count(), 3);
    assert_eq!(bench.progress(), [Progress::Started, Progress::Done]);
    let picks = bench.seen.iter().filter(|it| matches!(it, VehicleEffect::Picked { .. })).count();
    assert_eq!(picks, 1);
    // Once taken, even under a later link generation.
    let later = VehicleCommand { link: Generation(9), ..first };
    bench.tell(&later);
    assert_eq!(
        bench.acks().last().map(|it| (it.link, it.verdict.clone())),
        Some((Generation(9), AckVerdict::Accepted))
    );
    assert_eq!(bench.progress().len(), 2);
}

#[test]
fn refusals_follow_the_table() {
    use VehicleRefusal::*;
    let rows: Vec<(&str, Instruction, Option<VehicleRefusal>)> = vec![
        ("a way that exists", drive(&["H1", "S1"]), None),
        ("a one-way, forwards", drive(&["H1", "H2"]), None),
        ("a one-way, backwards", drive(&["H2", "H1"]), Some(UnknownPlace)),
        ("no way between", drive(&["H1", "W1"]), Some(UnknownPlace)),
        ("an unknown point", drive(&["H1", "X9"]), Some(UnknownPlace)),
        ("no path", drive(&[]), Some(UnknownPlace)),
        ("a start elsewhere", drive(&["S1", "W1"]), Some(NotThere)),
        ("a pick where no station is", pick(&["H1"], "O1"), Some(UnknownPlace)),
        ("a drop without a load", put(&["H1", "S1"], "O1"), Some(WrongLoad)),
        ("a ride whose approach misses the landing", ride(&["H1", "S1"]), Some(UnknownPlace)),
        ("a ride", ride(&["H1", "S1", "W1", "D1"]), None),
    ];
    for (name, instruction, expected) in rows {
        let mut bench = Bench::open();
        assert_eq!(bench.refusal(&command("V1", 2, instruction)), expected, "{name}");
        bench.run(Millis(100));
        assert_eq!(bench.progress().is_empty(), expected.is_some(), "{name}: refused means nothing is done");
    }
    let loaded: Vec<(&str, Instruction, Option<VehicleRefusal>)> = vec![
        ("a second pick", pick(&["H1", "S1"], "O2"), Some(WrongLoad)),
        ("a drop of another load", put(&["H1", "S1"], "O2"), Some(WrongLoad)),
        ("a drop", put(&["H1", "S1"], "O1"), None),
    ];
    for (name, instruction, expected) in loaded {
        let mut bench = Bench::open_at("H1", Some("O1"));
        assert_eq!(bench.refusal(&command("V1", 2, instruction)), expected, "{name}");
    }
}

#[test]
fn one_command_at_a_time() {
    let mut bench = Bench::open();
    bench.tell(&command("V1", 2, drive(&["H1", "S1"])));
    assert_eq!(bench.refusal(&command("V1", 3, drive(&["H1", "S1"]))), Some(VehicleRefusal::Busy));
    bench.run(Millis::seconds(10));
    assert_eq!(bench.refusal(&command("V1", 4, drive(&["S1", "W1"]))), None);
    bench.run(Millis::seconds(10));
    let again = bench.refusal(&command("V1", 3, drive(&["W1"])));
    assert_eq!(again, Some(VehicleRefusal::Busy), "something newer was taken: the answer stands");
}

#[test]
fn what_was_refused_may_come_again_while_nothing_newer_was_taken() {
    let mut bench = Bench::open();
    bench.tell(&command("V1", 2, drive(&["H1", "S1"])));
    let next = command("V1", 3, drive(&["S1", "W1"]));
    assert_eq!(bench.refusal(&next), Some(VehicleRefusal::Busy));
    bench.run(Millis::seconds(10));
    assert_eq!(bench.refusal(&next), None);
}

#[test]
fn a_lower_claim_is_refused_also_after_a_restart() {
    let claim = |sequence, claim, task_name: &str| VehicleCommand {
        claim: Generation(claim),
        task: Some(task(task_name)),
        ..command("V1", sequence, drive(&["H1"]))
    };
    let mut bench = Bench::open();
    assert_eq!(bench.refusal(&claim(2, 5, "T1")), None);
    assert_eq!(bench.refusal(&claim(3, 4, "T1")), Some(VehicleRefusal::StaleClaim));
    assert_eq!(bench.refusal(&claim(4, 4, "T2")), None, "another task has its own claims");
    let mut bench = Bench::at("H1", None, bench.model.memory().clone());
    bench.model.connect();
    let open = VehicleCommand { link: Generation(2), ..command("V1", 5, Instruction::OpenLink) };
    assert_eq!(bench.refusal(&open), None);
    let stale = VehicleCommand { link: Generation(2), ..claim(6, 4, "T1") };
    assert_eq!(bench.refusal(&stale), Some(VehicleRefusal::StaleClaim));
    assert_eq!(bench.acks().last().map(|it| it.boot), Some(2));
}

#[test]
fn the_memory_holds_500_ids_and_refuses_what_lies_below() {
    let mut bench = Bench::open();
    for sequence in 2..=501 {
        assert_eq!(bench.refusal(&command("V1", sequence, drive(&["H1"]))), None);
        bench.model.deliver(2 * (sequence - 1) - 1);
        bench.model.deliver(2 * (sequence - 1));
    }
    bench.run(Millis::seconds(1));
    assert_eq!(bench.heartbeat().window_floor, 2);
    let n_reports = bench.progress().len();
    assert_eq!(bench.refusal(&command("V1", 2, drive(&["H1"]))), None, "still a repeat");
    let below = command("V1", 1, Instruction::OpenLink);
    assert_eq!(bench.refusal(&below), Some(VehicleRefusal::BelowWindow));
    let late = VehicleCommand { id: crate::fixture::command_id("late"), ..command("V1", 1, drive(&["H1"])) };
    assert_eq!(bench.refusal(&late), Some(VehicleRefusal::BelowWindow));
    assert_eq!(bench.progress().len(), n_reports, "nothing was done again");
}

#[test]
fn the_link_opens_with_a_higher_generation_alone() {
    let mut bench = Bench::at("H1", None, VehicleMemory::empty(0));
    bench.model.connect();
    let at = |link, sequence, instruction| VehicleCommand {
        link: Generation(link),
        ..command("V1", sequence, instruction)
    };
    let stale = Some(VehicleRefusal::StaleLink);
    assert_eq!(bench.refusal(&at(1, 1, drive(&["H1"]))), stale, "closed after a start");
    assert_eq!(bench.refusal(&at(0, 2, Instruction::OpenLink)), stale);
    assert_eq!(bench.refusal(&at(3, 3, Instruction::OpenLink)), None);
    assert_eq!(bench.refusal(&at(2, 4, drive(&["H1"]))), stale, "older than the open one");
    assert_eq!(bench.refusal(&at(4, 5, drive(&["H1"]))), stale, "not opened yet");
    assert_eq!(bench.refusal(&at(3, 6, drive(&["H1"]))), None);
    assert_eq!(bench.refusal(&at(3, 7, Instruction::OpenLink)), stale, "seen before");
    assert_eq!(
        bench.refusal(&at(3, 1, drive(&["H1"]))),
        None,
        "what was refused may come again under a new link"
    );
    let mut bench = Bench::at("H1", None, bench.model.memory().clone());
    bench.model.connect();
    assert_eq!(bench.refusal(&at(3, 8, Instruction::OpenLink)), stale, "kept over a restart");
    assert_eq!(bench.refusal(&at(4, 9, Instruction::OpenLink)), None);
}

#[test]
fn the_link_closes_and_what_was_accepted_is_finished() {
    type Close = fn(&mut Bench);
    let rows: [(&str, Close, bool); 3] = [
        ("three missed control beats", |bench| bench.run_with(Millis(3000), false), false),
        (
            "a reconnect",
            |bench| {
                bench.model.disconnect();
                bench.model.connect();
            },
            false,
        ),
        ("two missed control beats", |bench| bench.run_with(Millis(2900), false), true),
    ];
    for (name, close, open) in rows {
        let mut bench = Bench::open();
        bench.tell(&command("V1", 2, drive(&["H1", "S1", "W1"])));
        close(&mut bench);
        bench.run(Millis::seconds(10));
        assert_eq!(bench.heartbeat().link_open, open, "{name}");
        assert_eq!(bench.progress().last(), Some(&Progress::Done), "{name}");
        let next = bench.refusal(&command("V1", 3, drive(&["W1"])));
        assert_eq!(next, (!open).then_some(VehicleRefusal::StaleLink), "{name}");
    }
}

#[test]
fn reports_are_kept_until_the_broker_has_them() {
    let mut bench = Bench::open();
    bench.tell(&command("V1", 2, drive(&["H1", "S1"])));
    bench.model.deliver(1);
    bench.model.disconnect();
    bench.run(Millis::seconds(10));
    assert_eq!(bench.progress(), [Progress::Started], "nothing is said without a session");
    bench.model.connect();
    bench.collect();
    assert_eq!(bench.progress(), [Progress::Started, Progress::Done]);
    bench.model.disconnect();
    bench.model.connect();
    bench.collect();
    let numbers: Vec<u64> = bench.reports().iter().map(|it| it.report).collect();
    assert_eq!(numbers, [1, 2, 2], "said again under the same number");
    bench.model.deliver(2);
    bench.model.disconnect();
    bench.model.connect();
    bench.collect();
    assert_eq!(bench.reports().len(), 3);
}

#[test]
fn a_ride_waits_for_the_car_crosses_the_sill_and_leaves_at_its_floor() {
    let mut bench = Bench::open_at("D1", None);
    bench.tell(&command("V1", 2, ride(&["D1"])));
    bench.run(Millis::seconds(1));
    assert_eq!(bench.model.ride(), Some((&lift("L1"), RideStage::Waiting)));
    let shut: [(&str, CarView); 4] = [
        ("shut", car(None)),
        ("elsewhere", car(Some("F2"))),
        ("full", CarView { has_room: false, ..car(Some("F1")) }),
        ("sill taken", CarView { sill_free: false, ..car(Some("F1")) }),
    ];
    for (name, view) in shut {
        assert!(!bench.model.see_car(&view, bench.now), "{name}");
    }
    assert!(bench.progress().is_empty(), "no wheel turned yet");
    assert!(bench.model.see_car(&car(Some("F1")), bench.now));
    bench.run(Millis(4900));
    assert_eq!(bench.model.ride().map(|it| it.1), Some(RideStage::OnSill));
    bench.run(Millis(100));
    assert_eq!(bench.progress(), [Progress::Started, Progress::Boarded]);
    assert_eq!(bench.model.place(bench.now), kernel::wire::vehicle::Place::InCar { lift: lift("L1") });
    bench.model.see_car(&car(Some("F1")), bench.now);
    bench.model.see_car(&car(None), bench.now);
    assert!(!bench.model.radio_is_up(), "radio does not pass a shut door");
    bench.run(Millis::seconds(10));
    assert!(bench.model.see_car(&car(Some("F2")), bench.now));
    bench.run(Millis::seconds(5));
    assert_eq!(bench.model.place(bench.now), kernel::wire::vehicle::Place::At { point: point("D2") });
    assert_eq!(bench.progress().len(), 2, "the end of the ride waits for the radio");
    bench.run(Millis::seconds(3));
    bench.model.connect();
    bench.collect();
    assert!(bench.progress().ends_with(&[Progress::Alighted, Progress::Done]));
}

/// It stands in the car, or out of it, and says so only when its late sensor does.
#[test]
fn a_late_sensor_holds_its_word_back_and_not_the_vehicle() {
    use kernel::wire::vehicle::Place;
    // By how much the sensor is late, and when that ends.
    for (late, lag) in
        [(None, 0), (Some((Millis(2500), Mono(600_000))), 2500), (Some((Millis(2500), Mono(3000))), 0)]
    {
        let mut bench = Bench::open_at("D1", None);
        if let Some((by_ms, until)) = late {
            bench.model.trouble_sensor(by_ms, until);
        }
        bench.tell(&command("V1", 2, ride(&["D1"])));
        bench.run(Millis::seconds(1));
        bench.model.see_car(&car(Some("F1")), bench.now);
        bench.run(Millis(5000));
        assert_eq!(bench.model.in_car(), Some(&lift("L1")), "{late:?}");
        let told = |bench: &Bench, progress| bench.progress().contains(&progress);
        let boarded = lag == 0;
        assert_eq!(told(&bench, Progress::Boarded), boarded, "{late:?}");
        assert_eq!(bench.model.place(bench.now) == Place::InCar { lift: lift("L1") }, boarded, "{late:?}");
        bench.run(Millis(lag));
        assert!(told(&bench, Progress::Boarded), "{late:?}");
        bench.model.see_car(&car(Some("F2")), bench.now);
        bench.run(Millis(5000));
        assert_eq!(bench.model.in_car(), None, "{late:?}");
        let out = Place::At { point: point("D2") };
        assert_eq!((told(&bench, Progress::Done), bench.model.place(bench.now) == out), (lag == 0, lag == 0));
        bench.run(Millis(lag));
        assert_eq!(
            (told(&bench, Progress::Done), bench.model.place(bench.now) == out),
            (true, true),
            "{late:?}"
        );
    }
}

#[test]
fn a_car_that_never_comes_is_given_up_after_a_bound() {
    let mut bench = Bench::open_at("D1", None);
    bench.tell(&command("V1", 2, ride(&["D1"])));
    bench.run(Millis::seconds(599));
    assert!(bench.progress().is_empty());
    bench.run(Millis::seconds(2));
    assert!(matches!(bench.progress().as_slice(), [Progress::Failed { .. }]), "{:?}", bench.progress());
    assert_eq!(bench.refusal(&command("V1", 3, drive(&["D1", "W1"]))), None, "free again");
}

#[test]
fn a_blind_point_is_deaf_and_mute() {
    let mut bench = Bench::open_at("S2", None);
    bench.tell(&command("V1", 2, drive(&["S2", "B2"])));
    bench.run(Millis::seconds(20));
    assert!(bench.seen.contains(&VehicleEffect::Radio { up: false }));
    assert_eq!(bench.progress(), [Progress::Started], "the last word before it");
    bench.model.connect();
    bench.model.command(&command("V1", 3, drive(&["B2", "S2"])), bench.now);
    bench.collect();
    assert_eq!(bench.acks().len(), 2, "no command enters one");
    assert_eq!(path(&["B2"]).first().map(|it| bench.model.ways.cover_at(it)), Some(Cover::Dead));
}
