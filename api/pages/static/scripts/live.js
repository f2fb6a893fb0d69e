// Live pages: pieces that changed come as server-sent events and are morphed into place, so that focus, scroll position
// and what the reader has opened stay. A page in the background gives its connection back and asks now and then.
import { tick } from "./times.js";

const HIDDEN = 5000; // milliseconds between looks while nobody looks
const OFFLINE = 4000; // milliseconds without a connection before the page says so

let morph = null;

function capture() {
  window.htmx.registerExtension("perdure-live", { init: (api) => { morph = api.morph; } });
}

/** Title and icon of the tab tell the state. */
export function retitle() {
  const titled = document.querySelector("[data-title]");
  if (!titled) return;
  document.title = titled.dataset.title;
  const icon = document.querySelector("link[rel=icon]");
  const name = titled.dataset.icon ?? "brand";
  const href = icon.dataset.icons.replace("favicon-brand", `favicon-${name}`);
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}

function place(element) {
  const old = element.id && document.getElementById(element.id);
  if (!old) return;
  const piece = document.createDocumentFragment();
  piece.append(element);
  morph(old, piece, false);
}

/** Put pieces where they belong; each is an element whose id says where. */
export function patch(html) {
  for (const piece of html.split("<!--piece-->")) {
    const template = document.createElement("template");
    template.innerHTML = piece; // escaped by the server
    for (const element of [...template.content.children]) {
      if (element.dataset.part === undefined) place(element);
      else for (const inner of [...element.children]) place(inner); // a piece of a picture travels in one
    }
  }
  retitle();
  tick();
  document.dispatchEvent(new CustomEvent("perdure:patched"));
}

async function look(live) {
  const address = new URL(live.dataset.events, location.href);
  address.searchParams.set("version", live.dataset.version);
  address.searchParams.set("once", "");
  try {
    const response = await fetch(address);
    if (response.status !== 200) return;
    live.dataset.version = response.headers.get("X-Version");
    patch(await response.text());
  } catch { /* the next look */ }
}

export function follow() {
  retitle();
  const live = document.getElementById("live"), offline = document.getElementById("offline");
  if (!live) return;
  capture();
  let away = 0;
  const lost = () => { away ||= setTimeout(() => { offline.hidden = false; }, OFFLINE); };
  const back = () => { clearTimeout(away); away = 0; offline.hidden = true; };
  live.addEventListener("part", ({ detail }) => { live.dataset.version = detail.id; patch(detail.data); });
  live.addEventListener("htmx:sse:after:connection", () => { back(); document.dispatchEvent(new CustomEvent("perdure:connected")); });
  live.addEventListener("htmx:sse:error", lost);
  live.addEventListener("htmx:sse:before:connection", ({ detail }) => {
    detail.connection.lastEventId ||= live.dataset.version;
    if (detail.connection.attempt > 0 && !document.hidden) lost();
  });
  // Only now: htmx may have gone through the page before its extension was there.
  const address = new URL(live.dataset.events, location.href);
  address.searchParams.set("version", live.dataset.version);
  live.setAttribute("hx-sse:connect", address.pathname + address.search);
  window.htmx.process(live);
  setInterval(() => { if (document.hidden) look(live); }, HIDDEN);
}
