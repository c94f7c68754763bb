// The browser test: one order from REST to the screen, and what an operator relies on.
//
// HOISTWAY_URL   address of a running `hoistway demo` (required)
// HOISTWAY_PID   its process id: the test stops and continues it to see the veil come and go (required)
// HOISTWAY_OTHER_URL address of its node B (required)
// HOISTWAY_DRILLS_URL address of a running `hoistway demo --drills` (required)
// CHROMIUM       the browser, if it is not where Debian puts it
// HOISTWAY_SHOTS folder for screenshots, if they are wanted
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { liftChecks } from "./lift.mjs";
import { nodeChecks } from "./nodes.mjs";

const url = need("HOISTWAY_URL").replace(/\/$/, "");
const pid = Number(need("HOISTWAY_PID"));
const otherUrl = need("HOISTWAY_OTHER_URL").replace(/\/$/, "");
const drillsUrl = need("HOISTWAY_DRILLS_URL").replace(/\/$/, "");
const executablePath =
  process.env.CHROMIUM ??
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((it) => fs.existsSync(it));
assert.ok(executablePath, "no Chromium found: install it (Debian: apt-get install chromium) or set CHROMIUM");

const SHORT_MS = 60_000;
// An order drives two halls, rides a lift and perhaps waits for it.
const ORDER_MS = 240_000;
// Antialiasing and dithering stay below this distance of the highest to the lowest channel.
const GREY_MAX = 40;

function need(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} is not set; see the head of run.mjs`);
  process.exit(2);
}

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "hoistway-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  viewport: { width: 1920, height: 1080 },
  locale: "en-GB",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await context.newPage();
const complaints = [];
page.on("console", (message) => {
  if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
});
page.on("pageerror", (error) => complaints.push(`page error: ${error.message}`));

const checks = [
  ["the first paint is the site itself, before any script", firstPaint],
  ["the page hydrates and goes live", goesLive],
  ["the server's clock ticks on the screen", clockTicks],
  ["a calm plant shows no saturated pixel", calmIsGrey],
  ["nothing overflows from 1280 to 3840", nothingOverflows],
  ["language and canvas switch live and are kept", switchesLive],
  ["a lift is selected by keyboard", selectsByKeyboard],
  ["an order placed over REST is shown and completed", orderCompletes],
  ["axe finds nothing serious, in both languages and on both canvases", axeIsContent],
  ...liftChecks({ context, page, url, complaints, choose, shot, saturatedPixels, SHORT_MS }),
  ...nodeChecks({ context, url, otherUrl, complaints, choose, shot, saturatedPixels, SHORT_MS }),
  ["an ordinary run shows no trace of drills", hasNoDrills],
  ["a drill run says so on every screen, and a drill starts and ends by keyboard", drillsByKeyboard],
  ["nothing was written to the console", consoleIsSilent],
  ["a server that stops leaves a veil, and the page comes back alone", veilComesAndGoes],
];

let failed = 0;
for (const [name, check] of checks) {
  const begin = Date.now();
  try {
    const note = await check();
    console.log(`ok   ${name} (${Date.now() - begin} ms)${note ? `: ${note}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n     ${String(error?.message ?? error).replaceAll("\n", "\n     ")}`);
    await shot(`failed-${failed}`);
  }
}
await context.close();
fs.rmSync(profile, { recursive: true, force: true });
console.log(failed ? `${failed} of ${checks.length} checks failed` : `all ${checks.length} checks passed`);
process.exit(failed ? 1 : 0);

async function firstPaint() {
  const html = await (await fetch(`${url}/`, { headers: { "accept-language": "zh-CN" } })).text();
  const site = await (await fetch(`${url}/api/v1/site`)).json();
  assert.match(html, /<html lang="zh-CN"/);
  for (const lift of Object.keys(site.lifts)) assert.ok(html.includes(lift), `${lift} is missing`);
  for (const vehicle of Object.keys(site.vehicles)) assert.ok(html.includes(vehicle), `${vehicle} is missing`);
}

async function goesLive() {
  await page.goto(`${url}/`);
  await page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  const ms = await page.evaluate(() => Math.round(performance.now()));
  assert.equal(await page.getAttribute("html", "lang"), "en", "the browser asked for English");
  return `live ${ms} ms after navigation at the latest`;
}

async function clockTicks() {
  const read = () => page.textContent(".clock time");
  const before = await read();
  assert.match(before, /^\d\d:\d\d:\d\d$/);
  await page.waitForFunction((old) => document.querySelector(".clock time").textContent !== old, before, { timeout: SHORT_MS });
}

async function calmIsGrey() {
  await page.waitForFunction(() => !document.querySelector(".alarm-list li"), null, { timeout: SHORT_MS });
  for (const canvas of ["day", "night"]) {
    await setCanvas(canvas);
    const png = await page.screenshot();
    const count = await saturatedPixels(png);
    assert.equal(count, 0, `${count} saturated pixels by ${canvas}`);
    await shot(`calm-${canvas}`);
  }
  await setCanvas("day");
}

/// Counted on a blank page of the browser, which reads PNG already.
async function saturatedPixels(png) {
  const blank = await context.newPage();
  try {
    return await blank.evaluate(async ([data, most]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const brush = canvas.getContext("2d");
      brush.drawImage(image, 0, 0);
      const { data: bytes } = brush.getImageData(0, 0, image.width, image.height);
      let count = 0;
      for (let at = 0; at < bytes.length; at += 4) {
        const rgb = [bytes[at], bytes[at + 1], bytes[at + 2]];
        if (Math.max(...rgb) - Math.min(...rgb) > most) count += 1;
      }
      return count;
    }, [png.toString("base64"), GREY_MAX]);
  } finally {
    await blank.close();
  }
}

async function nothingOverflows() {
  for (const [width, height] of [[1280, 720], [1920, 1080], [2560, 1440], [3840, 2160]]) {
    await page.setViewportSize({ width, height });
    for (const lang of ["en", "zh-CN"]) {
      await setLanguage(lang);
      const wide = await page.evaluate(() =>
        ["html", ".head", ".alarms", ".panel", ".section", ".scroll"].filter((it) => {
          const element = document.querySelector(it);
          return element && element.scrollWidth > element.clientWidth + 1;
        }));
      assert.deepEqual(wide, [], `overflow at ${width}, ${lang}`);
    }
    await shot(`width-${width}`);
  }
  await page.setViewportSize({ width: 1920, height: 1080 });
}

async function switchesLive() {
  await page.evaluate(() => { window.sameDocument = true; });
  await setLanguage("zh-CN");
  assert.match(await page.textContent("#tasks-title"), /任务/);
  await setLanguage("en");
  assert.match(await page.textContent("#tasks-title"), /Tasks/);
  await setLanguage("zh-CN");
  await setCanvas("night");
  assert.ok(await page.evaluate(() => window.sameDocument), "the page was loaded again");
  await page.reload();
  assert.deepEqual(
    [await page.getAttribute("html", "lang"), await page.getAttribute("html", "data-canvas")], ["zh-CN", "night"]);
  await page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  await setLanguage("en");
  await setCanvas("day");
}

async function selectsByKeyboard() {
  const lifts = page.locator(".lift .hit");
  const last = lifts.nth((await lifts.count()) - 1);
  await last.focus();
  await page.keyboard.press("Enter");
  assert.equal(await last.getAttribute("aria-pressed"), "true");
}

async function orderCompletes() {
  const site = await (await fetch(`${url}/api/v1/site`)).json();
  const floorOf = (station) => site.points[site.stations[station].point].floor;
  const stations = Object.keys(site.stations);
  const from = stations.find((it) => floorOf(it) === site.floors.at(-1).id);
  const to = stations.findLast((it) => floorOf(it) === site.floors[0].id);
  const answer = await fetch(`${url}/api/v1/orders`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": `end2end-${Date.now()}` },
    body: JSON.stringify({ from, to }),
  });
  const order = await answer.json();
  assert.equal(answer.status, 202, JSON.stringify(order));
  const row = `tr[data-task="${order.task}"]`;
  await page.waitForSelector(row, { timeout: SHORT_MS });
  const states = new Set();
  const end = Date.now() + ORDER_MS;
  while (Date.now() < end && !states.has("completed")) {
    states.add(await page.getAttribute(row, "data-state"));
    await page.waitForTimeout(100);
  }
  await shot("order");
  assert.ok(states.has("completed"), `${order.task} from ${from} to ${to} was only ${[...states].join(", ")}`);
  return [...states].join(" → ");
}

async function axeIsContent() {
  for (const lang of ["en", "zh-CN"]) {
    for (const canvas of ["day", "night"]) {
      await setLanguage(lang);
      await setCanvas(canvas);
      const { violations } = await new AxeBuilder({ page }).analyze();
      const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
      const text = serious.map((it) => `${it.id}: ${it.help}: ${it.nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
      assert.deepEqual(text, [], `${lang}, ${canvas}`);
    }
  }
}

async function hasNoDrills() {
  assert.equal(await page.locator(".drill-band, .drills").count(), 0);
  assert.doesNotMatch(await page.title(), /DRILL/);
  assert.equal((await fetch(`${url}/api/v1/drills`)).status, 404);
}

async function drillsByKeyboard() {
  await page.goto(`${drillsUrl}/`);
  await page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
  assert.match(await page.title(), /演习 DRILL/);
  for (const [width, height] of [[1280, 720], [1920, 1080], [3840, 2160]]) {
    await page.setViewportSize({ width, height });
    for (const lang of ["zh-CN", "en"]) {
      await setLanguage(lang);
      for (const canvas of ["night", "day"]) {
        await setCanvas(canvas);
        assert.match(await page.textContent(".drill-band"), lang === "en" ? /DRILL/ : /演习/);
        const wide = await page.evaluate(() =>
          ["html", ".head", ".alarms", ".drill-band", ".drills", ".panel", ".section"].filter((it) => {
            const element = document.querySelector(it);
            return element && element.scrollWidth > element.clientWidth + 1;
          }));
        assert.deepEqual(wide, [], `overflow at ${width}, ${lang}, ${canvas}`);
        await shot(`drills-${width}-${lang}-${canvas}`);
      }
    }
  }
  await page.setViewportSize({ width: 1920, height: 1080 });
  assert.equal(await saturatedPixels(await page.locator(".drill-band").screenshot()), 0, "the band has an alarm's colour");
  await page.locator(".drill-band a").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "drill-fault", "the form follows its heading");
  await page.keyboard.press("ArrowDown");
  for (const id of ["drill-place", "drill-length"]) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
  }
  // So long that it does not end by itself while it is looked at.
  await page.keyboard.press("End");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".drill-list [data-drill]", { timeout: SHORT_MS });
  assert.match(await page.textContent(".drill-list [data-drill]"), /Sill blocked/);
  await shot("drill-running");
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  assert.deepEqual(serious.map((it) => `${it.id}: ${it.nodes[0]?.html}`), []);
  await page.locator("[data-drill] button").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.querySelector("[data-drill]"), null, { timeout: SHORT_MS });
  assert.match(await page.textContent(".ended-drills"), /ended by hand/);
  await shot("drill-ended");
  await page.goto(`${url}/`);
  await page.waitForSelector("html[data-link=live]", { timeout: SHORT_MS });
}

async function consoleIsSilent() {
  assert.deepEqual(complaints, []);
}

async function veilComesAndGoes() {
  // The page notes by itself what it says of its link: this test may look too late to see it stale.
  await page.evaluate(() => {
    window.links = [];
    const note = () => {
      const { link } = document.documentElement.dataset;
      if (link !== window.links.at(-1)?.[0]) window.links.push([link, Math.round(performance.now())]);
    };
    note();
    new MutationObserver(note).observe(document.documentElement, { attributeFilter: ["data-link"] });
  });
  process.kill(pid, "SIGSTOP");
  try {
    await page.waitForSelector("html[data-link=stale], html[data-link=lost]", { timeout: SHORT_MS });
    assert.ok(await page.isVisible(".veil"), "no veil");
    await shot("veil");
    await page.waitForSelector("html[data-link=lost]", { timeout: SHORT_MS });
    const links = await page.evaluate(() => window.links);
    const after = (link) => links.find(([it]) => it === link)?.[1] - links[0][1];
    assert.deepEqual(links.map(([link]) => link), ["live", "stale", "lost"]);
    return `stale after ${after("stale")} ms, lost after ${after("lost")} ms`;
  } finally {
    process.kill(pid, "SIGCONT");
    await page.waitForSelector("html[data-link=live]", { timeout: 60_000 });
    assert.ok(!(await page.isVisible(".veil")), "the veil stayed");
  }
}

async function choose(which, lang, canvas) {
  await setLanguage(lang, which);
  await setCanvas(canvas, which);
}

async function setLanguage(lang, which = page) {
  if ((await which.getAttribute("html", "lang")) !== lang) await which.locator(".head .switch").nth(0).click();
  await which.waitForSelector(`html[lang="${lang}"]`, { timeout: SHORT_MS });
}

async function setCanvas(canvas, which = page) {
  if ((await which.getAttribute("html", "data-canvas")) !== canvas) await which.locator(".head .switch").nth(1).click();
  await which.waitForSelector(`html[data-canvas="${canvas}"]`, { timeout: SHORT_MS });
}

async function shot(name, which = page) {
  const folder = process.env.HOISTWAY_SHOTS;
  if (folder) await which.screenshot({ path: path.join(folder, `${name}.png`) });
}
