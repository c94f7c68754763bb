// Frames of the live stream as a node would write them (postcard), for what a demonstration does not show by itself.
// The order of variants and fields is that of `live.rs`, `view.rs` and `view/lift.rs` in `app/kernel/src/wire`.

const STANDINGS = ["running", "silent", "stopped", "lost"];
const CHANGES = { lift: 2, alarm: 6, nodes: 9 };
const DOORS = ["closed", "opening", "open", "closing", "obstructed"];
const MOTIONS = ["still", "up", "down"];
const HEARINGS = ["never", "heard", "silent"];
const ARBITRATIONS = ["lease", "edge", "returning"];
const PHASES = ["requested", "queued", "granted", "boarding", "riding", "alighting"];
const ACTIONS = ["goTo", "openDoor", "closeDoor"];
const VERDICTS = ["accepted", "forwarded", "refused", "expired", "unknown", "ran", "notSent"];
const WAITS = { turn: 0, verifying: 5, leaseHeld: 12, edge: 21, vehicle: 23 };
const SETTLINGS = { reads: 0, noReads: 1 };

function varint(number) {
  const bytes = [];
  let rest = BigInt(number);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest ? low | 0x80 : low);
  } while (rest);
  return bytes;
}

function text(value) {
  const bytes = [...Buffer.from(value, "utf8")];
  return [...varint(bytes.length), ...bytes];
}

const some = (bytes) => [1, ...bytes];

function peer({ id, standing, since, heardAt, hearsBroker = true, tasks }) {
  return [...text(id), ...varint(1), ...varint(STANDINGS.indexOf(standing)), ...some(text("0.1.0")), ...text(since),
    ...some(text(heardAt)), ...some([hearsBroker ? 1 : 0]), ...varint(tasks)];
}

const option = (value, write) => (value === undefined ? [0] : some(write(value)));

const list = (values, write) => [...varint(values.length), ...values.flatMap(write)];

const token = ([epoch, serial]) => [...varint(epoch), ...varint(serial)];

/// One word, or a word with the name or time that goes with it.
const tagged = (codes) => ([word, ...rest]) => [...varint(codes[word]), ...rest.flatMap(text)];

function status({ floor, door = "closed", motion = "still", occupied = false }) {
  return [...text(floor), 1, DOORS.indexOf(door), MOTIONS.indexOf(motion), 0, ...[0, 7, 7, 1, 99].flatMap(varint),
    occupied ? 1 : 0];
}

function lease({ holder, rank, since, endsAt, renewedAt }) {
  return [...text(holder), ...token(rank), ...text(since), ...option(endsAt, text), ...option(renewedAt, text)];
}

function session({ vehicle, from, to, phase, since, waits }) {
  return [...text(`S-${vehicle}`), ...text(vehicle), ...text(`T-${vehicle}`), ...text(from), ...text(to),
    PHASES.indexOf(phase), ...varint(1), ...text(since), ...varint(66_000), ...tagged(WAITS)(waits)];
}

function command({ id, at, issuer, rank, action, floor, verdict, after, joined, contradicts }) {
  return [...text(id), ...text(at), ...text(issuer), ...option(rank, token), ACTIONS.indexOf(action), ...text(floor),
    ...option(verdict, (it) => [VERDICTS.indexOf(it)]), ...option(after, varint), ...option(joined, text),
    ...option(contradicts, text)];
}

/// A lift, with what it is said to show.
export function lift({ id, gateway = "G1", hearing = "heard", shows, readAt, verifying, settling, arbitration = "lease",
  epoch = 1, held, ride, line = [], said = [] }) {
  return [...varint(CHANGES.lift), ...text(id), ...text(gateway), HEARINGS.indexOf(hearing), 1, ...varint(0),
    ...option(shows, status), ...option(readAt, text), ...option(verifying, text),
    ...option(settling, tagged(SETTLINGS)), ARBITRATIONS.indexOf(arbitration), ...some(varint(epoch)),
    ...option(held, lease), ...option(ride, session), ...list(line, session), ...list(said, command)];
}

/// All control nodes.
export function nodes(peers) {
  return [...varint(CHANGES.nodes), ...varint(peers.length), ...peers.flatMap(peer)];
}

/// An alarm of the whole site, of the first kind.
export function alarm({ id, detail, at }) {
  return [...varint(CHANGES.alarm), ...text(id), ...varint(0), ...varint(0), 4, ...text(detail), ...text(at)];
}

/// What changed.
export function delta(sequence, changes) {
  return Buffer.from([2, ...varint(sequence), ...text(new Date().toISOString()), ...varint(changes.length),
    ...changes.flat()]);
}

/// The server lives.
export function tick(sequence) {
  return Buffer.from([3, ...varint(sequence), ...text(new Date().toISOString())]);
}
