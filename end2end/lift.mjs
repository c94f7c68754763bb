// The page of one lift: the way to it and back, and each state that an operator must be able to read off it.
import assert from "node:assert/strict";
import AxeBuilder from "@axe-core/playwright";
import * as frames from "./frames.mjs";
import { freeze, openHeldPage, thaw } from "./held.mjs";

/// The checks, with the names under which they are told.
export function liftChecks(test) {
  return [
    ["a lift's page is found by keyboard, and back leads back", () => findsTheLift(test)],
    ["a lift that is not there has a page with a way back", () => findsNoLift(test)],
    ["a lift's page says who speaks, who waits and why, in every state", () => showsStates(test)],
  ];
}

async function findsTheLift({ page, url, SHORT_MS }) {
  const live = () => page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  const arrives = async (path) => {
    await page.waitForURL(`${url}${path}`, { timeout: SHORT_MS });
    await live();
  };
  await page.goto(`${url}/`);
  await live();
  await page.locator(".panel h2 a").focus();
  await page.keyboard.press("Enter");
  await arrives("/lifts/L1");
  assert.match(await page.title(), /^L1 · /);
  assert.equal(await page.locator(".rail a[aria-current=page]").getAttribute("href"), "/lifts/L1");
  await page.locator(".lift-head .way").nth(1).focus();
  await page.keyboard.press("Enter");
  await arrives("/lifts/L2");
  await page.goBack();
  await arrives("/lifts/L1");
  await page.goBack();
  await arrives("/");
  await page.locator(".rail a").nth(1).focus();
  await page.keyboard.press("Enter");
  await arrives("/lifts/L1");
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "lift", "the skip link leads past the strips");
  await page.goto(`${url}/`);
  await live();
}

async function findsNoLift({ page, url, complaints, SHORT_MS }) {
  const before = complaints.length;
  const answer = await page.goto(`${url}/lifts/L99`);
  assert.equal(answer.status(), 404);
  await page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  assert.match(await page.innerText(".no-lift-card"), /no lift L99|没有电梯 L99/);
  await page.locator(".no-lift-card .way").first().click();
  await page.waitForURL(`${url}/`, { timeout: SHORT_MS });
  await page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  // The browser itself notes the 404 of the page.
  const noted = complaints.splice(before);
  assert.ok(noted.every((it) => /404/.test(it)), noted.join("; "));
}

const ago = (ms) => new Date(Date.now() - ms).toISOString();

/// What the lift shows in each state, and what its page has to say about it. Its times are of now.
function states() {
  const fresh = { id: "L1", shows: { floor: "2", door: "open" }, readAt: ago(-3_600_000) };
  const said = (id, issuer, ms, action, floor, rest = {}) =>
    ({ id, issuer, at: ago(ms), rank: [7, 400 + Number(id.slice(1))], action, floor, verdict: "accepted", after: 240, ...rest });
  const rider = { vehicle: "V03", from: "3", to: "1", phase: "boarding", since: ago(18_000), waits: ["vehicle"] };
  const line = [
    { vehicle: "V08", from: "1", to: "3", phase: "queued", since: ago(41_000), waits: ["turn", "V03"] },
    { vehicle: "V01", from: "1", to: "2", phase: "queued", since: ago(4_000), waits: ["turn", "V08"] },
  ];
  const usual = [said("C3", "B", 3_000, "openDoor", "3"), said("C2", "A", 9_000, "goTo", "3"),
    said("C1", "B", 15_000, "closeDoor", "2")];
  const fight = [said("C7", "B", 2_868, "closeDoor", "3", { contradicts: "C6" }),
    said("C6", "A", 2_900, "openDoor", "3", { contradicts: "C5" }), said("C5", "B", 2_944, "goTo", "1"),
    said("C4", "A", 6_000, "goTo", "3", { joined: "C2", after: undefined }), ...usual];
  const byEdge = said("C9", "A", 1_000, "goTo", "1", { rank: undefined, verdict: undefined, after: undefined });
  return [
    ["calm", { ...fresh, said: usual }, [/nobody holds it/, /nobody rides/, /Nobody waits/], true],
    ["held", { ...fresh, ride: rider, line, said: usual,
      held: { holder: "A", rank: [7, 418], since: ago(400), endsAt: ago(-24_000) } },
    [/token 7·418/, /ends in 2\d s/, /Renewed each 5 s/, /waits for the vehicle to drive/, /its turn, after V08/], true],
    ["fight", { ...fresh, ride: rider, line, said: fight }, [/contradicts A · 32 ms apart/, /joined the call of A/], false],
    ["doubt", { ...fresh, verifying: "C3", settling: ["reads", ago(-900)], ride: { ...rider, waits: ["verifying", "C3"] },
      line, said: [{ ...usual[0], verdict: "unknown" }, ...usual.slice(1)] },
    [/C3 is not known; nothing is sent/, /settled at \d\d:\d\d:\d\d/, /what became of command C3/], false],
    ["edge", { ...fresh, arbitration: "edge", epoch: 3, ride: { ...rider, waits: ["edge", "C9"] }, line, said: [byEdge, ...usual] },
      [/edge arbitration · epoch 3/, /the gateway to decide on C9/], false],
    ["silent", { ...fresh, hearing: "silent", readAt: ago(63_000), line, said: usual },
      [/Gateway G1 is silent/, /unreachable/, /1 min \d\d s ago/], false],
  ];
}

async function showsStates(test) {
  for (const nth of states().keys()) await showsState(test, nth);
}

/// Each state on a page of its own: one that has once taken itself for cut off no longer hears what the test says.
async function showsState(test, nth) {
  const { url, choose, saturatedPixels, SHORT_MS } = test;
  const held = await openHeldPage(test, `${url}/lifts/L1`);
  const { page } = held;
  const peers = ["A", "B"].map((id) =>
    ({ id, standing: "running", since: ago(5_400_000), heardAt: ago(900), tasks: 3 }));
  try {
    await choose(page, "en", "day");
    const [name, view, texts, calm] = states()[nth];
    await freeze(held, [frames.nodes(peers), frames.lift(view)]);
    for (const text of texts) {
      await page.waitForFunction(([source]) => new RegExp(source).test(document.querySelector(".lift-words").innerText),
        [text.source], { timeout: SHORT_MS }).catch(async () => assert.match(await page.innerText(".lift-words"), text));
    }
    assert.equal(await page.isVisible(".edge-strip"), name === "edge", `${name}: the strip`);
    const grey = (await saturatedPixels(await page.locator(".lift-words").screenshot())) === 0;
    assert.equal(grey, calm, `${name}: color stands for what is wrong alone`);
    await looks(test, page, name);
  } finally {
    await choose(page, "en", "day");
    thaw(held);
    await page.close();
  }
}

/// At every size, in both languages, on both canvases.
async function looks({ choose, shot }, page, name) {
  for (const [width, height] of [[1280, 720], [1920, 1080], [3840, 2160]]) {
    await page.setViewportSize({ width, height });
    for (const lang of ["zh-CN", "en"]) {
      for (const canvas of ["night", "day"]) {
        await choose(page, lang, canvas);
        const wide = await page.evaluate(() =>
          ["html", ".head", ".alarms", ".edge-strip", ".lift-words", ".lift-shaft"].filter((it) => {
            const element = document.querySelector(it);
            return element && element.scrollWidth > element.clientWidth + 1;
          }));
        assert.deepEqual(wide, [], `${name}: overflow at ${width}, ${lang}, ${canvas}`);
        await shot(`lift-${name}-${width}-${lang}-${canvas}`, page);
      }
    }
  }
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  assert.deepEqual(serious.map((it) => `${name}: ${it.id}: ${it.nodes[0]?.html}`), []);
}
