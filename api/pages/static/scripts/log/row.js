// One row of a log as an element.
import { paint } from "./colours.js";

const HEADING = 1, ERROR = 2, SECONDS = 4, TITLE = 6, DEPTH = 2, MAX_DEPTH = 4;

function part(kind, name) {
  const element = document.createElement(kind);
  element.className = name;
  return element;
}

export function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
}

/** Make or refresh the element of a line; `state` says what is known of it. */
export function row(element, line, state) {
  const { said, section, place, closed, time, marks } = state;
  const look = JSON.stringify([line, Boolean(said), closed, section?.[SECONDS], section?.[1], time, marks]);
  if (element?.dataset.look === look) return element;
  const made = element ?? part("div", "line");
  made.dataset.look = look;
  made.id = `L${line}`;
  const kind = said?.[2] ?? (section ? HEADING : 0);
  made.className = ["line", kind & HEADING && "heading", kind & ERROR && "error", !said && !section && "coming", section && `depth-${Math.min(section[DEPTH], MAX_DEPTH)}`, marks].filter(Boolean).join(" ");
  const number = part("a", "at");
  number.href = `#L${line}`;
  number.tabIndex = -1;
  number.textContent = line;
  number.setAttribute("aria-label", `Line ${line}`);
  const parts = [number];
  if (time) {
    const when = part("time", "when");
    [when.textContent, when.title] = time;
    parts.push(when);
  }
  if (section) parts.push(fold(place, closed));
  const text = part("span", "said");
  text.innerHTML = said?.[0] || section?.[TITLE] || ""; // escaped by the server
  paint(text);
  parts.push(text);
  if (section && section[SECONDS] >= 0) {
    const took = part("span", "took");
    took.textContent = duration(section[SECONDS]);
    took.title = "How long this section took";
    parts.push(took);
  }
  made.replaceChildren(...parts);
  return made;
}

function fold(place, closed) {
  const button = part("button", "fold");
  button.type = "button";
  button.dataset.section = place;
  button.setAttribute("aria-expanded", String(!closed));
  button.setAttribute("aria-label", closed ? "Open this section" : "Close this section");
  return button;
}
