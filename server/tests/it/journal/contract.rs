//! What a ledger promises, whatever it is stored on. Each row runs on both databases.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use kernel::drill::DrillEnd;
use kernel::ids::{
    CommandId, DrillId, FloorId, Generation, LedgerSequence, LiftId, OrderId, SessionId, StationId, TaskId,
    VehicleId,
};
use kernel::ledger::{Conflict, Guard, Presence, Row, over, running};
use kernel::task::TaskEvent;
use kernel::time::Millis;
use kernel::wire::ledger::{Record, SessionPhase};
use kernel::wire::rest::TransportOrder;
use kernel::wire::vehicle::{Instruction, VehicleCommand};
use server::journal::{GENESIS, GUARDS_MAX, Journal, JournalError, RECORDS_MAX, Runs, VerifyError};

use super::{Bench, at, claim, named, node, reaches, run, sequences, unclaimed_since};

macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Bench::on_sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Bench::on_postgres().await).await;
            })*
        }
    };
}

on_both!(
    entries_are_chained_from_the_first_on_and_found_again,
    many_at_once_leave_no_gap_and_no_proposal_is_torn,
    the_database_itself_refuses_to_change_the_past,
    a_touched_ledger_refuses_to_start_and_says_where,
    a_closed_journal_answers_what_it_took,
    what_is_above_a_bound_is_refused,
    a_proposal_whose_guard_does_not_hold_is_refused_alone,
    every_kind_of_row_moves_with_its_record,
    an_older_ledger_gets_its_rows_from_its_entries,
    a_ledger_of_an_older_build_gets_its_steps_counted_anew,
    two_journals_write_one_chain_and_each_sees_what_both_wrote,
    of_two_journals_only_one_claims_a_task,
    a_journal_opens_while_another_writes,
    a_late_word_of_a_node_changes_nothing,
);

async fn entries_are_chained_from_the_first_on_and_found_again(bench: Bench) {
    let journal = bench.journal().await;
    assert_eq!(journal.head().await.unwrap().hash, GENESIS);

    let first = journal.append(node(), at(), vec![run(1), run(2)], vec![]).await.unwrap();
    let second = journal.append(node(), at(), vec![run(3)], vec![]).await.unwrap();
    assert_eq!(journal.append(node(), at(), vec![], vec![]).await.unwrap(), vec![]);
    let stored: Vec<_> = first.into_iter().chain(second).collect();

    let head = journal.head().await.unwrap();
    let verified = journal.verify().await.unwrap();
    assert_eq!((head.sequence.0, verified.entries, verified.head_hash), (3, 3, head.hash));
    assert_ne!(head.hash, GENESIS);

    drop(journal);
    let journal = bench.journal().await;
    assert_eq!(journal.entries_after(LedgerSequence(0), 100).await.unwrap(), stored);
    assert_eq!(journal.head().await.unwrap(), head);
    assert_eq!(*journal.moved().borrow(), LedgerSequence(3));
    assert_eq!(journal.append(node(), at(), vec![run(4)], vec![]).await.unwrap()[0].sequence.0, 4);
}

async fn many_at_once_leave_no_gap_and_no_proposal_is_torn(bench: Bench) {
    let journal = bench.journal().await;
    let proposals = (0..200u64).map(|idx| {
        let journal = journal.clone();
        let records = vec![run(idx), run(idx), run(idx)];
        tokio::spawn(async move { journal.append(node(), at(), records, vec![]).await })
    });
    let mut answered = BTreeSet::new();
    for proposal in proposals.collect::<Vec<_>>() {
        let entries = proposal.await.unwrap().unwrap();
        let own: Vec<u64> = entries.iter().map(|entry| entry.sequence.0).collect();
        assert_eq!(own, (own[0]..own[0] + 3).collect::<Vec<_>>(), "a proposal stands together");
        answered.extend(own);
    }
    assert_eq!(answered, (1..=600).collect());
    assert_eq!(sequences(&journal).await, (1..=600).collect::<Vec<_>>());
    assert_eq!(journal.verify().await.unwrap().entries, 600);
}

async fn the_database_itself_refuses_to_change_the_past(bench: Bench) {
    let journal = bench.journal().await;
    journal.append(node(), at(), vec![run(1), run(2)], vec![]).await.unwrap();
    const INSERT: &str = "INSERT INTO entries (sequence, at, node, record, prev_hash, hash, drill) VALUES";
    let (jumps, forks) = (
        format!("{INSERT} (4, 't', 'A', '{{}}', (SELECT hash FROM head), ZERO, false)"),
        format!("{INSERT} (3, 't', 'A', '{{}}', ZERO, ZERO, false)"),
    );
    let mut rows = vec![
        ("UPDATE entries SET record = '{}' WHERE sequence = 1", "an entry is never changed"),
        ("DELETE FROM entries WHERE sequence = 2", "an entry is never deleted"),
        ("UPDATE head SET sequence = 1", "its head only rises"),
        ("DELETE FROM head", "its head is never deleted"),
        (&jumps, "an entry follows the head"),
        (&forks, "an entry follows the head"),
    ];
    if matches!(bench.database, server::store::Database::Postgres(_)) {
        rows.push(("TRUNCATE entries", "an entry is never deleted"));
        rows.push(("TRUNCATE head", "its head is never deleted"));
    }
    for (statement, reason) in rows {
        let refused = bench.execute(statement).await.unwrap_err();
        assert!(refused.contains(reason), "{statement}: {refused}");
    }
    assert_eq!(journal.verify().await.unwrap().entries, 2);
}

async fn a_touched_ledger_refuses_to_start_and_says_where(bench: Bench) {
    // Each touch is undone, so that one database serves all rows.
    let rows: &[(&str, &str, u64, &str)] = &[
        ("record = '{\"nodeStarted\":{\"run\":9}}'", "sequence = 3", 3, "changed after"),
        ("at = '2026-01-01T00:00:00.000000Z'", "sequence = 1", 1, "changed after"),
        ("node = 'B'", "sequence = 5", 5, "changed after"),
        ("drill = true", "sequence = 2", 2, "changed after"),
        ("hash = ZERO", "sequence = 4", 4, "changed after"),
        ("prev_hash = ZERO", "sequence = 2", 2, "does not follow"),
        // As if it were deleted.
        ("sequence = 7", "sequence = 2", 2, "is missing"),
        ("sequence = 7", "sequence = 5", 5, "is missing"),
    ];
    let journal = bench.journal().await;
    journal.append(node(), at(), (1..=5).map(run).collect(), vec![]).await.unwrap();
    drop(journal);
    bench.disarm().await;
    bench.execute("CREATE TABLE sound AS SELECT * FROM entries").await.unwrap();
    for (touch, place, expected, reason) in rows {
        bench.execute(&format!("UPDATE entries SET {touch} WHERE {place}")).await.unwrap();
        broken_at(&bench, *expected, reason).await;
        let restored = "UPDATE entries SET at = sound.at, node = sound.node, record = sound.record, \
             drill = sound.drill, prev_hash = sound.prev_hash, hash = sound.hash FROM sound \
             WHERE entries.sequence = sound.sequence";
        let place = format!("UPDATE entries SET {place} WHERE sequence = 7");
        bench.execute(&format!("{place}; {restored}")).await.unwrap();
    }
    let swap = "UPDATE entries SET sequence = 9 WHERE sequence = 2; \
        UPDATE entries SET sequence = 2 WHERE sequence = 3; UPDATE entries SET sequence = 3 WHERE sequence = 9";
    bench.execute(swap).await.unwrap();
    broken_at(&bench, 2, "does not follow").await;
    bench.execute(swap).await.unwrap();
    // The head is set back by somebody who took its guard away, too.
    let on = if matches!(bench.database, server::store::Database::Postgres(_)) { " ON head" } else { "" };
    bench.execute(&format!("DROP TRIGGER head_only_rises{on}")).await.unwrap();
    bench
        .execute("UPDATE head SET sequence = 4, hash = (SELECT hash FROM entries WHERE sequence = 4)")
        .await
        .unwrap();
    broken_at(&bench, 5, "the head says that 4 entries stand").await;
    bench
        .execute("UPDATE head SET sequence = 5, hash = (SELECT hash FROM entries WHERE sequence = 5)")
        .await
        .unwrap();
    bench.execute("DELETE FROM entries WHERE sequence = 5").await.unwrap();
    broken_at(&bench, 5, "the head says that 5 entries stand").await;
    bench.execute("DELETE FROM entries").await.unwrap();
    broken_at(&bench, 1, "the head says that 5 entries stand").await;
}

async fn broken_at(bench: &Bench, expected: u64, reason: &str) {
    match Journal::open(bench.database.clone(), Runs::Ordinary).await {
        Err(VerifyError::Broken(broken)) => {
            assert_eq!(broken.sequence.0, expected, "{reason}: {broken}");
            assert!(broken.to_string().contains(reason), "{expected}: {broken}");
        }
        other => panic!("{reason}: {other:?}"),
    }
}

async fn a_closed_journal_answers_what_it_took(bench: Bench) {
    let journal = bench.journal().await;
    let taken: Vec<_> = (0..50)
        .map(|idx| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.append(node(), at(), vec![run(idx)], vec![]).await })
        })
        .collect();
    drop(journal);
    let mut stored = 0;
    for answer in taken {
        stored += u64::try_from(answer.await.unwrap().unwrap().len()).unwrap();
    }
    assert_eq!((stored, bench.journal().await.verify().await.unwrap().entries), (50, 50));
}

async fn what_is_above_a_bound_is_refused(bench: Bench) {
    let journal = bench.journal().await;
    let too_many = journal.append(node(), at(), vec![run(1); RECORDS_MAX + 1], vec![]).await;
    assert_eq!(too_many, Err(JournalError::TooManyRecords(RECORDS_MAX + 1)));
    let guards = vec![unclaimed_since("T-A1", 0); GUARDS_MAX + 1];
    let too_many = journal.append(node(), at(), vec![run(1)], guards).await;
    assert_eq!(too_many, Err(JournalError::TooManyGuards(GUARDS_MAX + 1)));
    let wide = Record::AlarmCleared { alarm: kernel::ids::AlarmId::try_new("A-1").unwrap() };
    assert!(journal.append(node(), at(), vec![wide; RECORDS_MAX], vec![]).await.is_ok());
}

async fn a_proposal_whose_guard_does_not_hold_is_refused_alone(bench: Bench) {
    let journal = bench.journal().await;
    let propose = |task: &'static str, generation, expected| {
        let journal = journal.clone();
        let (records, guards) = (vec![claim(task, generation)], vec![unclaimed_since(task, expected)]);
        tokio::spawn(async move { journal.append(node(), at(), records, guards).await })
    };
    // Handed in before the writer runs: one group.
    let answers = [
        propose("T-A1", 1, 0),
        propose("T-A1", 1, 0),
        propose("T-A2", 1, 0),
        propose("T-A1", 2, 1),
        propose("T-A3", 7, 6),
    ];
    let mut told = Vec::new();
    for answer in answers {
        told.push(answer.await.unwrap().map(|entries| entries[0].sequence.0));
    }
    let conflict = |task, expected, found| {
        Err(JournalError::Conflict(Conflict { guard: unclaimed_since(task, expected), found }))
    };
    assert_eq!(told, [Ok(1), conflict("T-A1", 0, 1), Ok(2), Ok(3), conflict("T-A3", 6, 0)]);
    let later = journal.append(node(), at(), vec![claim("T-A1", 3)], vec![unclaimed_since("T-A1", 2)]).await;
    assert_eq!(later.unwrap()[0].sequence.0, 4);
    assert_eq!(journal.verify().await.unwrap().entries, 4);
}

/// One record for each kind of row, and where it leaves the row.
/// What is appended one after the other, and where it leaves which row.
fn moves() -> Vec<(Vec<Record>, Row, u64)> {
    let (vehicle, lift) = (VehicleId::try_new("V1").unwrap(), LiftId::try_new("L1").unwrap());
    let generation = Generation(4);
    let granted = Record::SessionChanged {
        session: SessionId::try_new("S-1").unwrap(),
        phase: SessionPhase::Granted,
        generation,
        lift: lift.clone(),
    };
    let chosen = Record::VehicleAssigned { task: task("T-A1"), vehicle: vehicle.clone() };
    let step = |name: &str| Row::Step(task(name));
    let end = |event| Record::TaskChanged { task: task("T-A2"), event };
    let done = || CommandId::try_new("T-A2.1").unwrap();
    let acknowledged = end(TaskEvent::AckReceived { command: done() });
    let failed = end(TaskEvent::ExecutionFailed { reason: "a test".to_owned() });
    let drill = DrillId::try_new("D-1").unwrap();
    vec![
        (vec![run(3)], Row::Node(node()), running(3)),
        (vec![run(3)], Row::Site, 1),
        (vec![Record::NodeLost { node: named("C"), run: 2 }], Row::Node(named("C")), over(2)),
        (vec![placed("T-A1", "key")], Row::Key("key".to_owned()), 1),
        (vec![claim("T-A1", 5)], unclaimed_since("T-A1", 0).row, 5),
        (vec![chosen.clone(), chosen], Row::Vehicle(vehicle.clone()), 2),
        (vec![Record::LinkOpened { vehicle: vehicle.clone(), generation }], Row::Link(vehicle), 4),
        (vec![granted], Row::Lift(lift), 4),
        (vec![issued(Some("T-A1")), issued(None)], step("T-A1"), 1),
        (vec![requested("T-A1")], step("T-A1"), 2),
        (vec![Record::WithdrawalAsked { task: task("T-A1") }], step("T-A1"), 3),
        (vec![acknowledged, end(TaskEvent::Finished { command: done() })], step("T-A2"), 1),
        (vec![failed], step("T-A2"), 2),
        (vec![end(TaskEvent::Withdrawn { reason: "a test".to_owned() })], step("T-A2"), 3),
        (vec![Record::NodeStopped { run: 3 }], Row::Node(node()), over(3)),
        (vec![Record::DrillEnded { drill: drill.clone(), end: DrillEnd::ByHand }], Row::Drill(drill), 1),
    ]
}

fn task(name: &str) -> TaskId {
    TaskId::try_new(name).unwrap()
}

fn placed(name: &str, key: &str) -> Record {
    let station = |name: &str| StationId::try_new(name).unwrap();
    let order = TransportOrder {
        id: OrderId::try_new("O-A1").unwrap(),
        from: station("P1"),
        to: station("P2"),
        priority: 5,
        deadline: None,
        reference: None,
    };
    let (idempotency_key, fingerprint) = (key.to_owned(), "f".to_owned());
    Record::OrderPlaced { order, task: task(name), idempotency_key, fingerprint }
}

fn issued(of: Option<&str>) -> Record {
    let command = VehicleCommand {
        id: CommandId::try_new("T-A1.0").unwrap(),
        vehicle: VehicleId::try_new("V1").unwrap(),
        sequence: 2,
        task: of.map(task),
        step: 0,
        claim: Generation(5),
        link: Generation(4),
        valid_for_ms: Millis(28_000),
        instruction: Instruction::OpenLink,
    };
    Record::CommandIssued { command }
}

fn requested(name: &str) -> Record {
    let floor = |name: &str| FloorId::try_new(name).unwrap();
    Record::SessionRequested {
        session: SessionId::try_new("S-2").unwrap(),
        lift: LiftId::try_new("L1").unwrap(),
        task: task(name),
        vehicle: VehicleId::try_new("V1").unwrap(),
        from: floor("F1"),
        to: floor("F2"),
    }
}

/// The rows after all of [`moves`].
async fn moved_by_all(journal: &Journal) -> Vec<(Row, u64)> {
    let mut rows = BTreeMap::new();
    for (records, row, number) in moves() {
        journal.append(node(), at(), records, vec![]).await.unwrap();
        rows.insert(row, number);
    }
    rows.into_iter().collect()
}

async fn stand(journal: &Journal, rows: &[(Row, u64)]) {
    for (row, expected) in rows {
        let wrong = Guard { row: row.clone(), expected: expected + 1 };
        let told = journal.append(node(), at(), vec![], vec![wrong.clone()]).await;
        assert_eq!(told, Err(JournalError::Conflict(Conflict { guard: wrong, found: *expected })));
        let right = Guard { row: row.clone(), expected: *expected };
        assert_eq!(journal.append(node(), at(), vec![], vec![right]).await, Ok(vec![]));
    }
}

async fn every_kind_of_row_moves_with_its_record(bench: Bench) {
    let journal = bench.journal().await;
    for (records, row, number) in moves() {
        journal.append(node(), at(), records, vec![]).await.unwrap();
        stand(&journal, &[(row, number)]).await;
    }
}

async fn an_older_ledger_gets_its_rows_from_its_entries(bench: Bench) {
    let journal = bench.journal().await;
    let rows = moved_by_all(&journal).await;
    drop(journal);
    bench.execute("DELETE FROM rows").await.unwrap();
    stand(&bench.journal().await, &rows).await;
}

/// As builds have left it that moved the step row by a place before a lift alone, or not at all.
async fn a_ledger_of_an_older_build_gets_its_steps_counted_anew(bench: Bench) {
    let journal = bench.journal().await;
    let rows = moved_by_all(&journal).await;
    drop(journal);
    for left in ["UPDATE rows SET number = 1 WHERE kind = 'step'", "DELETE FROM rows WHERE kind = 'step'"] {
        bench.execute(left).await.unwrap();
        bench
            .execute(
                "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)",
            )
            .await
            .unwrap();
        bench.migrate().await;
        stand(&bench.journal().await, &rows).await;
    }
}

async fn two_journals_write_one_chain_and_each_sees_what_both_wrote(bench: Bench) {
    const EACH: u64 = 60;
    let (a, b) = (bench.journal().await, bench.journal().await);
    let mut moved = [a.moved(), b.moved()];
    let write = |journal: &Journal, name: &'static str| {
        let journal = journal.clone();
        tokio::spawn(async move {
            for idx in 0..EACH {
                journal.append(named(name), at(), vec![run(idx), run(idx)], vec![]).await.unwrap();
            }
        })
    };
    let writing = [write(&a, "A"), write(&b, "B")];
    for writer in writing {
        writer.await.unwrap();
    }
    for moved in &mut moved {
        reaches(moved, 4 * EACH).await;
    }
    assert_eq!(sequences(&a).await, (1..=4 * EACH).collect::<Vec<_>>());
    assert_eq!(b.verify().await.unwrap().entries, 4 * EACH);
    // Who only listens sees it, too.
    a.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
    reaches(&mut moved[1], 4 * EACH + 1).await;
}

async fn of_two_journals_only_one_claims_a_task(bench: Bench) {
    let journals = [bench.journal().await, bench.journal().await];
    for idx in 0..20 {
        let task = format!("T-A{idx}");
        let claims = journals.iter().map(|journal| {
            let guards = vec![unclaimed_since(&task, 0)];
            let (journal, records) = (journal.clone(), vec![claim(&task, 1)]);
            tokio::spawn(async move { journal.append(node(), at(), records, guards).await })
        });
        let (mut stored, mut refused) = (0, 0);
        for claim in claims.collect::<Vec<_>>() {
            match claim.await.unwrap() {
                Ok(_) => stored += 1,
                Err(JournalError::Conflict(conflict)) => refused += conflict.found,
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!((stored, refused), (1, 1), "{task}");
    }
}

async fn a_journal_opens_while_another_writes(bench: Bench) {
    let busy = bench.journal().await;
    let writing = tokio::spawn(async move {
        for idx in 0..200 {
            busy.append(node(), at(), vec![run(idx)], vec![]).await.unwrap();
        }
    });
    // From before the first entry on, so that the head moves under a walk of every length.
    while !writing.is_finished() {
        bench.journal().await;
    }
    writing.await.unwrap();
    assert_eq!(bench.journal().await.verify().await.unwrap().entries, 200);
}

async fn a_late_word_of_a_node_changes_nothing(bench: Bench) {
    let journal = bench.journal().await;
    assert_eq!(journal.presences().await.unwrap(), []);
    let word = |name, run, beat| Presence {
        node: named(name),
        run,
        beat,
        version: format!("0.{beat}"),
        hears_broker: beat % 2 == 1,
        // Kept to the microsecond, like an entry's.
        at: chrono::DateTime::UNIX_EPOCH + TimeDelta::microseconds(i64::try_from(beat).unwrap()),
    };
    let rows = [
        (word("B", 1, 1), word("B", 1, 1)),
        (word("B", 1, 7), word("B", 1, 7)),
        (word("B", 1, 6), word("B", 1, 7)),
        (word("B", 2, 1), word("B", 2, 1)),
        (word("B", 1, 9), word("B", 2, 1)),
    ];
    for (told, known) in rows {
        journal.attend(&told).await.unwrap();
        assert_eq!(journal.presences().await.unwrap(), [known], "{told:?}");
    }
    journal.attend(&word("A", 1, 1)).await.unwrap();
    assert_eq!(journal.presences().await.unwrap(), [word("A", 1, 1), word("B", 2, 1)]);
    assert_eq!(journal.head().await.unwrap().sequence.0, 0, "it is outside the chain");
}
