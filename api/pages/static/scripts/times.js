// Times as people say them, in the reader's zone; the exact moment is in the title.
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${seconds < 9.95 ? Math.max(0, seconds).toFixed(1) : s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
}

const pad = (number) => String(number).padStart(2, "0");

/** A moment in the reader's zone, as ISO 8601 has it. */
export function local(moment) {
  const at = new Date(moment), ahead = -at.getTimezoneOffset(), part = Math.abs(ahead);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const zone = `${ahead < 0 ? "-" : "+"}${pad(Math.floor(part / 60))}:${pad(part % 60)}`;
  return `${day} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())} ${zone}`;
}

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/;

/** Moments within sentences, which the API and the command line tell in the same words, become the reader's, too. */
function localize() {
  for (const sentence of document.querySelectorAll("[data-text]"))
    for (const text of [...sentence.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)) {
      const found = MOMENT.exec(text.data);
      if (!found) continue;
      const rest = text.splitText(found.index), time = document.createElement("time");
      time.dateTime = found[0];
      time.dataset.day = "";
      rest.replaceData(0, found[0].length, "");
      sentence.insertBefore(time, rest);
    }
}

export function tick() {
  const now = Date.now();
  localize();
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    if (Number.isNaN(at)) continue;
    const passed = (now - at) / 1000;
    let text = null;
    if ("since" in time.dataset) text = span(passed);
    else if ("ago" in time.dataset) text = passed < 10 ? "just now" : `${span(passed).split(/(?<=[a-z]) /)[0]} ago`;
    else if ("day" in time.dataset) text = local(at).slice(0, 16);
    if (text !== null && time.textContent !== text) time.textContent = text;
    const title = local(at);
    if (time.title !== title) time.title = title;
  }
}

export function keepTime() {
  tick();
  setInterval(tick, 1000);
}
