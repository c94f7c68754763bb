// Frames of the live stream as a node would write them (postcard), for what a demonstration does not show by itself.
// The order of variants and fields is that of `app/kernel/src/wire/live.rs` and `view.rs`.

const STANDINGS = ["running", "silent", "stopped", "lost"];
const CHANGES = { alarm: 6, nodes: 9 };

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
