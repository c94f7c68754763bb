//! What a lease permits, and what the store grants.

mod calls;
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

#[test]
fn the_epoch_outranks_the_serial() {
    let token = |epoch, serial| FencingToken { epoch, serial };
    assert!(token(2, 1) > token(1, 900) && token(1, 2) > token(1, 1));
}
