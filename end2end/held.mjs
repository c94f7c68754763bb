// A page whose live stream the test holds.
import * as frames from "./frames.mjs";

/// Opens a page whose stream can be cut, and held: then it gets the test's own frames and no others.
export async function openHeldPage({ context, complaints, SHORT_MS }, url) {
  const held = { page: await context.newPage(), addresses: [], frozen: false, socket: null };
  held.page.on("pageerror", (error) => complaints.push(`page error: ${error.message}`));
  await held.page.routeWebSocket(/\/api\/v1\/stream/, (socket) => {
    held.addresses.push(new URL(socket.url()));
    held.socket = socket;
    socket.connectToServer().onMessage((message) => {
      if (!held.frozen) socket.send(message);
    });
  });
  await held.page.setViewportSize({ width: 1920, height: 1080 });
  await held.page.goto(url);
  await held.page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  return held;
}

/// Lets a page show what a test wants it to, at the ledger's place where it stands.
export async function freeze(held, changes) {
  held.frozen = true;
  const sequence = Number((await held.page.textContent(".facts .sequence")).replace(/\D/g, ""));
  held.socket.send(frames.delta(sequence, changes));
  held.ticking = setInterval(() => held.socket.send(frames.tick(sequence)), 1000);
  return sequence;
}

export function thaw(held) {
  clearInterval(held.ticking);
  held.frozen = false;
}
