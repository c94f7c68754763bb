//! What a lease permits, and what the store grants.

mod calls;
mod line;
mod table;

use super::*;
use crate::fixture::{self, at};

/// Asked for at 1000 ms: 30 s of life less 1 % and 2 ms, and the worst command takes 3 s.
#[test]
fn leave_to_send_ends_before_the_worst_command_could_outlive_the_lease() {
    let token = FencingToken { epoch: 1, serial: 7 };
    let lease = HeldLease::granted(fixture::lift("L1"), LeaseNonce(5), token, Mono(1000));
    let last = 1000 + 30_000 - 302 - 3000;
    for (now, left) in [(1000, None), (last, None), (last + 1, Some(2999)), (90_000, Some(0))] {
        let refused = left.map(|it| LeaseLost::TooLittleLeft { left: Millis(it) });
        assert_eq!(lease.permit(at(now)).err(), refused, "at {now} ms");
    }
    let permit = lease.permit(at(last)).expect("just in time");
    let authority = Authority::Lease { token, nonce: LeaseNonce(5) };
    assert_eq!((permit.lift().as_str(), permit.authority()), ("L1", authority));
    assert_eq!(lease.hold_until(Mono(2000)), Mono(8000));
}

#[test]
fn a_grant_that_is_told_again_ends_when_the_first_one_does() {
    let token = FencingToken { epoch: 1, serial: 7 };
    for (left, last) in [(30_000, 27_698), (5000, 2698), (3302, 1000), (90_000, 27_698)] {
        let left = Millis(left);
        let lease = HeldLease::granted_for(fixture::lift("L1"), LeaseNonce(5), token, Mono(1000), left);
        assert!(lease.permit(at(last)).is_ok() && lease.permit(at(last + 1)).is_err(), "{left}");
    }
    let short = HeldLease::granted_for(fixture::lift("L1"), LeaseNonce(5), token, Mono(0), Millis(3301));
    assert!(short.permit(at(0)).is_err());
}

/// Asked for at 6000 ms.
#[test]
fn a_lease_is_due_for_renewal_five_seconds_after_it_was_asked_for() {
    let token = FencingToken { epoch: 1, serial: 7 };
    let granted = |asked_at, left| {
        HeldLease::granted_for(fixture::lift("L1"), LeaseNonce(5), token, Mono(asked_at), Millis(left))
    };
    for (left, renew_at) in [(30_000, 11_000), (25_000, 6000), (20_000, 1000), (0, 0)] {
        assert_eq!(granted(6000, left).renew_at(), Mono(renew_at), "{left}");
    }
    let (early, late) = (granted(6000, 30_000), granted(7000, 30_000));
    let both = [early.renewed(&late), late.renewed(&early)];
    assert_eq!(both.map(|it| it.ends_at()), [late.ends_at(); 2], "answers may overtake each other");
}

#[test]
fn the_epoch_outranks_the_serial() {
    let token = |epoch, serial| FencingToken { epoch, serial };
    assert!(token(2, 1) > token(1, 900) && token(1, 2) > token(1, 1));
}
