"use strict"; // Keeps a page as it really is: replaces its live part, follows the log, lets times pass.
const [live, log, follow] = ["live", "log", "follow"].map((id) => document.getElementById(id));
const confirmed = ({ dataset }) => !dataset.question || confirm(dataset.question);
const toEnd = (inSight) => { log.scrollTop = log.scrollHeight; if (inSight) log.scrollIntoView({ block: "nearest" }); };
let fetching = false, missed = false;

function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${seconds < 9.95 ? Math.max(0, seconds).toFixed(1) : s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

function tick() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[datetime]")) {
    const passed = (now - Date.parse(time.dateTime)) / 1000;
    if ("since" in time.dataset) time.textContent = span(passed);
    else if ("ago" in time.dataset) time.textContent = passed < 10 ? "just now" : `${span(passed).split(/(?<=[a-z]) /)[0]} ago`;
  }
}

function retitle() {
  const titled = document.querySelector("[data-title]");
  if (titled) document.title = titled.dataset.title;
}

function replace(part) {
  const focused = document.activeElement && live.contains(document.activeElement) ? document.activeElement : null;
  const id = focused && focused.id, href = focused && focused.getAttribute("href");
  live.innerHTML = part;  // escaped by the server
  const again = (id && document.getElementById(id)) || [...live.querySelectorAll("a")].find((a) => href && a.getAttribute("href") === href);
  if (again) again.focus({ preventScroll: true });
  retitle();
  tick();
  if (log) more();
}

async function more() {
  if (fetching) { missed = true; return; }
  fetching = true;
  try {
    for (let going = true; going;) {
      const { source, offset, generation, state } = log.dataset;
      const query = new URLSearchParams({ offset, generation, state });
      const answer = await fetch(`${source}?${query}`, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const piece = await answer.json();
      const lines = document.getElementById("lines");
      const inSight = log.getBoundingClientRect().bottom <= innerHeight;
      if (piece.again) lines.replaceChildren();
      lines.insertAdjacentHTML("beforeend", piece.html);
      document.getElementById("tail").innerHTML = piece.tail;
      going = (piece.more && String(piece.offset) !== offset) || missed;
      missed = false;
      Object.assign(log.dataset, { offset: piece.offset, generation: piece.generation, state: piece.state });
      if (follow.checked) toEnd(inSight);
    }
  } catch { /* the next event tries again */ } finally { fetching = false; }
}

document.addEventListener("submit", (event) => confirmed(event.target) || event.preventDefault());
if (live) {
  const address = new URL(live.dataset.events, location.href);
  address.searchParams.set("version", live.dataset.version);
  const source = new EventSource(address);
  const offline = document.getElementById("offline");
  source.addEventListener("part", (event) => replace(event.data));
  source.addEventListener("open", () => { offline.hidden = true; if (log) more(); });
  source.addEventListener("error", () => setTimeout(() => { offline.hidden = source.readyState === EventSource.OPEN; }, 4000));
}
if (log) {
  log.addEventListener("scroll", () => { follow.checked = log.scrollHeight - log.scrollTop - log.clientHeight < 40; });
  if (location.hash.startsWith("#L")) follow.checked = false; else toEnd(true);
}
retitle();
tick();
setInterval(tick, 1000);
