// Several control nodes: a page that loses one goes on with another, and the strip says who runs the site.
import assert from "node:assert/strict";
import net from "node:net";
import AxeBuilder from "@axe-core/playwright";
import * as frames from "./frames.mjs";
import { freeze, openHeldPage, thaw } from "./held.mjs";

/// The checks, with the names under which they are told.
export function nodeChecks(test) {
  return [
    ["a page that loses its node goes on with the other and keeps what it knows", () => movesToTheOtherNode(test, "/")],
    ["so does the page of a lift", () => movesToTheOtherNode(test, "/lifts/L1")],
    ["control nodes that are missing are named, worded and counted", () => showsNodes(test)],
  ];
}

/// One address that leads to one node or the other, as a proxy in front of a site does.
async function listenBefore(url) {
  const proxy = { to: new URL(url), server: null, url: "" };
  proxy.server = net.createServer((client) => {
    const node = net.connect(Number(proxy.to.port), proxy.to.hostname);
    for (const [from, to] of [[client, node], [node, client]]) {
      from.pipe(to);
      // Whoever goes takes the other along; what was on its way is lost, as it would be.
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    }
  });
  await new Promise((done) => proxy.server.listen(0, "127.0.0.1", done));
  proxy.url = `http://127.0.0.1:${proxy.server.address().port}`;
  return proxy;
}

async function movesToTheOtherNode(test, path) {
  const { url, otherUrl, SHORT_MS } = test;
  const proxy = await listenBefore(url);
  const held = await openHeldPage(test, proxy.url + path);
  const { page } = held;
  const serves = (node) => page.waitForSelector(`[data-node=${node}]:has-text("this page")`, { timeout: SHORT_MS });
  try {
    await test.choose(page, "en", "day");
    await serves("A");
    assert.equal(held.addresses[0].search, "", "the first connection has nothing to resume");
    // No node knows this alarm: a snapshot would take it away.
    const detail = "known to this page alone";
    const sequence = await freeze(held, [frames.alarm({ id: "KEPT", detail, at: new Date().toISOString() })]);
    await page.waitForSelector(`text=${detail}`, { timeout: SHORT_MS });

    proxy.to = new URL(otherUrl);
    thaw(held);
    await held.socket.close();
    await serves("B");
    const asked = held.addresses.at(-1).searchParams;
    assert.equal(Number(asked.get("after")), sequence);
    assert.match(asked.get("site"), /^[\w-]+\.[0-9a-f]{16}$/);
    assert.ok(await page.isVisible(`text=${detail}`), "the page began again with everything");

    await page.reload();
    await serves("B");
    assert.equal(await page.locator(`text=${detail}`).count(), 0, "a new page begins with everything");
  } finally {
    thaw(held);
    await page.close();
    proxy.server.close();
  }
}

async function showsNodes(test) {
  const { url, choose, shot, saturatedPixels, SHORT_MS } = test;
  const held = await openHeldPage(test, `${url}/`);
  const { page } = held;
  const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
  const peer = (id, standing, seconds, tasks, hearsBroker = true) =>
    ({ id, standing, since: ago(seconds), heardAt: ago(standing === "running" ? 1 : seconds), hearsBroker, tasks });
  const rows = [
    ["running", "en", /^B · 3 tasks$/, 0],
    ["stopped", "en", /^B stopped · 3 tasks$/, 0],
    ["silent", "en", /^B silent 1 min \d\d s · 3 tasks$/, 1],
    ["running", "en", /^B does not hear the broker · 0 tasks$/, 1, false],
    ["lost", "zh-CN", /^B 已失效 1 分 \d\d 秒 · 3 项任务$/, 1],
  ];
  try {
    for (const [standing, lang, words, missing, hears = true] of rows) {
      thaw(held);
      await freeze(held, [frames.nodes([peer("A", "running", 5400, 4), peer("B", standing, 95, hears ? 3 : 0, hears)])]);
      await page.waitForSelector(`[data-node=B][data-standing=${standing}]`, { timeout: SHORT_MS });
      await choose(page, lang, "day");
      const read = async (node) => (await page.innerText(`[data-node=${node}]`)).replace(/\s+/g, " ").trim();
      assert.match(await read("B"), words);
      assert.match(await read("A"), lang === "en" ? /^A · this page · 4 tasks$/ : /^A · 本页 · 4 项任务$/);
      assert.equal(await page.locator(".node-list .missing").count(), missing, standing);
      const grey = (await saturatedPixels(await page.locator(".head").screenshot())) === 0;
      assert.equal(grey, !missing, `${standing}: color stands for what is missing alone`);
      await shot(`nodes-${hears ? standing : "cut-off"}`, page);
    }
    await opensByKeyboard(test, page);
  } finally {
    await choose(page, "en", "day");
    thaw(held);
    await page.close();
  }
}

/// The table behind the names, at every size.
async function opensByKeyboard({ choose, shot }, page) {
  await page.locator(".node-list").focus();
  await page.keyboard.press("Enter");
  assert.ok(await page.isVisible("#node-panel"), "the names open their table by keyboard");
  assert.equal(await page.locator("#node-panel tbody tr").count(), 2);
  assert.ok(await page.locator(".claim").first().isVisible(), "a row says who claims it");
  for (const [width, height] of [[1280, 720], [1920, 1080], [3840, 2160]]) {
    await page.setViewportSize({ width, height });
    for (const lang of ["en", "zh-CN"]) {
      for (const canvas of ["day", "night"]) {
        await choose(page, lang, canvas);
        const wide = await page.evaluate(() =>
          ["html", ".head", ".node-panel", ".scroll"].filter((it) => {
            const element = document.querySelector(it);
            return element && element.scrollWidth > element.clientWidth + 1;
          }));
        assert.deepEqual(wide, [], `overflow at ${width}, ${lang}, ${canvas}`);
        await shot(`nodes-${width}-${lang}-${canvas}`, page);
      }
    }
  }
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  assert.deepEqual(serious.map((it) => `${it.id}: ${it.nodes[0]?.html}`), []);
  await page.locator(".node-list").focus();
  await page.keyboard.press("Enter");
  assert.ok(!(await page.isVisible("#node-panel")), "and close it");
}
