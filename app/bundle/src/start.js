// Starts the page's program. A file of its own, so that the content security policy needs no inline script.
import init, { hydrate } from "./hoistway.js";

// The framework looks for these when a page streams resources; this page has none.
globalThis.__RESOLVED_RESOURCES = [];
globalThis.__SERIALIZED_ERRORS = [];
globalThis.__INCOMPLETE_CHUNKS = [];

try {
  await init({ module_or_path: new URL("hoistway_bg.wasm", import.meta.url) });
  hydrate();
} catch (error) {
  console.error(error);
  // What the server rendered stays readable, and says that it is not live.
  const note = document.getElementById("not-live");
  const script = document.querySelector("script[data-failed]");
  if (note && script) note.textContent = script.dataset.failed;
}
