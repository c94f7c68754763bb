//! What the radio suffers by place, what a vehicle measures of it, and its battery.

use super::*;

#[test]
fn telemetry_tells_the_signal_each_second() {
    let mut bench = Bench::open();
    bench.run(Millis::seconds(10));
    let samples = bench.telemetry();
    assert_eq!(samples.len(), 10);
    assert!(samples.iter().all(|it| (-58..=-52).contains(&it.rssi_dbm) && it.battery_pct <= 100));
}

/// Interference loses as much as a weak signal and looks like a good one.
#[test]
fn each_kind_of_trouble_is_seen_as_what_it_is() {
    use RadioEffect::{Cut, Interference, Slow, Thin};
    let by_ms = Millis(700);
    // What is measured: signal, and lost frames in percent; then what a frame meets: lost of a thousand, and how late.
    let rows = [
        ("thin", Thin { loss_permille: 300 }, Some((-85..=-85, 30..=30)), (300, Millis(0))),
        ("interference", Interference { loss_permille: 300 }, Some((-50..=-50, 30..=30)), (300, Millis(0))),
        ("slow", Slow { by_ms }, Some((-58..=-52, 0..=1)), (1, by_ms)),
        ("cut", Cut, None, (1000, Millis(0))),
    ];
    for (name, effect, measured, (loss_permille, delay)) in rows {
        let mut bench = Bench::open();
        let until = bench.now + Millis::seconds(5);
        bench.model.trouble_radio(RadioTrouble { place: RadioPlace::Everywhere, effect, until }, bench.now);
        assert_eq!(bench.model.radio_road(), RadioRoad { loss_permille, delay }, "{name}");
        bench.run(Millis(4900));
        let samples = bench.telemetry();
        assert_eq!(samples.is_empty(), measured.is_none(), "{name}");
        if let Some((signal, loss)) = measured {
            let fits = |it: &Telemetry| signal.contains(&it.rssi_dbm) && loss.contains(&it.loss_pct);
            assert!(samples.iter().all(fits), "{name}: {samples:?}");
        }
        bench.run(Millis(100));
        assert_eq!(bench.model.troubled_road(), RadioRoad::default(), "{name}: over");
    }
}

#[test]
fn a_trouble_is_where_it_is_said_to_be() {
    use RadioPlace::{Everywhere, Floor, Points, Vehicle};
    let effect = RadioEffect::Slow { by_ms: Millis(700) };
    // At H1, halfway from there, and at S1.
    let rows = [
        ("everywhere", Everywhere, [true; 3]),
        ("its floor", Floor(floor("F1")), [true; 3]),
        ("another floor", Floor(floor("F2")), [false; 3]),
        ("itself", Vehicle(vehicle("V1")), [true; 3]),
        ("another vehicle", Vehicle(vehicle("V2")), [false; 3]),
        ("where it starts, and the way from there", Points(path(&["H1", "W1"])), [true, true, false]),
        ("where it goes", Points(path(&["S1"])), [false, false, true]),
    ];
    for (name, place, expected) in rows {
        let mut bench = Bench::open();
        let until = bench.now + Millis::seconds(600);
        bench.model.trouble_radio(RadioTrouble { place: place.clone(), effect, until }, bench.now);
        let is_slow = |bench: &Bench| bench.model.radio_road().delay > Millis(0);
        let at_home = is_slow(&bench);
        bench.tell(&command("V1", 2, drive(&["H1", "S1"])));
        bench.run(Millis(3000));
        let on_its_way = is_slow(&bench);
        bench.run(Millis(3000));
        assert_eq!([at_home, on_its_way, is_slow(&bench)], expected, "{name}");
        bench.model.mend_radio(&place, effect, bench.now);
        assert!(!is_slow(&bench), "{name}: mended");
    }
}

/// In hundredths of a percent: a ride that waits for its car works, who has nothing in hand charges.
#[test]
fn work_drains_the_battery_and_rest_charges_it_within_bounds() {
    let rows = [
        ("work", true, 5000, 4900),
        ("work, nearly empty", true, 550, 500),
        ("rest", false, 5000, 5200),
        ("rest, nearly full", false, 9950, 10_000),
    ];
    for (name, works, before, after) in rows {
        let mut bench = Bench::open_at("D1", None);
        if works {
            bench.tell(&command("V1", 2, ride(&["D1"])));
        }
        bench.model.battery = before;
        bench.run(Millis::seconds(100));
        assert_eq!(bench.model.battery, after, "{name}");
        let told = bench.telemetry().last().map(|it| u16::from(it.battery_pct));
        assert_eq!(told, Some(after / 100), "{name}");
    }
}
