// The log of a job: any length, opened where it matters, followed while it grows.
import { chosen, choose, named, point, pointed } from "./address.js";
import { Lines } from "./lines.js";
import { List } from "./list.js";
import { lineAsked } from "./moment.js";
import { row } from "./row.js";
import { Rows } from "./rows.js";
import { highlight, Search } from "./search.js";
import { stamp } from "./times.js";

const AGAIN = 1000, LOOKS_AHEAD = 40;

export class Viewer {
  outline = null;
  following = false;
  picked = null;
  times = "off";
  #errors = [];
  #refreshing = false;
  #missed = false;
  #known = 0; // sections whose first state is decided
  #seen = 0; // lines when the end was last in sight

  constructor(element, tools) {
    this.element = element;
    this.tools = tools;
    this.source = element.dataset.source;
    this.began = Number(element.dataset.began);
    this.rows = new Rows();
    this.lines = new Lines(this.source, () => this.draw(), () => this.refresh());
    this.search = new Search(this.source, (first) => this.#found(first));
    this.list = new List(element.querySelector(".log-scroller"), (place, old) => this.#row(place, old), () => this.#moved());
    this.list.rows.addEventListener("click", (event) => this.#clicked(event));
    addEventListener("hashchange", () => this.#toPointed());
  }

  async start() {
    const [, asked] = await Promise.all([this.refresh(), pointed() ? 0 : lineAsked(this.source)]);
    this.element.classList.add("ready");
    this.tools.fit();
    this.list.know(this.rows.count);
    this.picked = pointed();
    const { failure, frozen } = this.outline;
    if (this.picked) this.#toPointed();
    else if (asked && (frozen || asked < this.rows.total)) this.#toMoment(asked);
    else if (failure) this.show(failure[0], 0.6);
    else { this.list.toEnd(); this.follow(!frozen); }
    this.#seen = this.rows.total;
    this.draw();
    this.element.scrollIntoView({ block: "nearest" });
    this.tools.changed();
  }

  /** Ask what has become of the log. */
  async refresh() {
    if (this.#refreshing) { this.#missed = true; return; }
    this.#refreshing = true;
    try {
      do {
        this.#missed = false;
        await this.#look();
      } while (this.#missed);
    } finally { this.#refreshing = false; }
  }

  async #look() {
    const query = new URLSearchParams({ seen: this.outline?.seen ?? "" });
    for (;;) {
      try {
        const response = await fetch(`${this.source}/outline?${query}`, { headers: { Accept: "application/json" } });
        if (response.ok) return this.#know(await response.json());
        if (response.status === 404 || response.status === 401) return;
      } catch { /* the server is away; it comes back */ }
      await new Promise((resolve) => { setTimeout(resolve, AGAIN); });
    }
  }

  #know(outline) {
    const before = this.outline, again = before && before.generation !== outline.generation;
    if (before && !again && before.size === outline.size && before.seen === outline.seen) return;
    this.outline = { ...before, ...outline };
    const { total, sections, errors, generation } = this.outline;
    const inSight = this.following && this.element.getBoundingClientRect().bottom <= innerHeight;
    this.#errors = errors;
    if (again) { this.rows.closed.clear(); this.#known = 0; }
    const change = Boolean(again || (before && outline.sections));
    this.rows.know(total, sections);
    this.#firstStates();
    this.lines.know(generation, total);
    this.list.know(this.rows.count, change);
    if (before) this.search.again(again ? 1 : before.total);
    if (again) this.#seen = 0;
    if (this.following) this.list.toEnd(); else this.list.render();
    this.draw();
    if (inSight) this.element.scrollIntoView({ block: "nearest" });
    this.tools.changed();
  }

  /** The failed section is open and the others closed; of any other log those are closed that want it. */
  #firstStates() {
    const { sections, failure } = this.outline, { opened, closed, all } = chosen();
    for (; this.#known < sections.length; this.#known += 1) {
      const place = this.#known;
      const byItself = failure ? !failure[1].includes(place) : this.rows.wantsClosed(place);
      const isClosed = closed.has(place) || (!opened.has(place) && (all ? all === "closed" : byItself));
      if (isClosed) this.rows.closed.add(place);
    }
    this.rows.know(this.rows.total, sections);
  }

  #row(place, old) {
    const line = this.rows.line(place), said = this.lines.get(line), section = this.rows.startingAt(line);
    const marks = [
      this.picked && this.picked[0] <= line && line <= this.picked[1] && "picked",
      this.search.query && this.search.has(line) && "hit",
      this.search.current >= 0 && this.search.hits[this.search.current] === line && "current",
    ].filter(Boolean).join(" ");
    return row(old, line, {
      said, marks, place: section,
      section: section < 0 ? null : this.rows.sections[section],
      closed: section >= 0 && this.rows.closed.has(section),
      time: stamp(this.times, said?.[1], this.began),
    });
  }

  /** Draw what is in sight, and ask for what of it is not there. */
  draw() {
    this.list.render();
    const wanted = [];
    for (let place = this.list.first - LOOKS_AHEAD; place <= this.list.lastDrawn + LOOKS_AHEAD; place += 1) {
      if (place >= 0 && place < this.rows.count) wanted.push(this.rows.line(place));
    }
    this.lines.want(wanted);
    if (this.following && !this.list.atEnd) this.list.toEnd();
    if (this.search.query || this.marked) highlight(this.search, this.list.rows.querySelectorAll(".said"));
    this.marked = Boolean(this.search.query);
  }

  #moved() {
    if (this.following && !this.list.atEnd) this.follow(false);
    else if (!this.following && this.list.atEnd && !this.outline?.frozen) this.follow(true);
    this.draw();
    this.tools.changed();
  }

  /** Lines that have come since the end was last in sight. */
  get unseen() {
    if (this.following || this.list.atEnd) this.#seen = this.rows.total;
    return this.rows.total - this.#seen;
  }

  follow(on) {
    this.following = on;
    if (on) { this.list.toEnd(); this.draw(); }
    this.tools.changed();
  }

  /** Show a line, in sections that are opened for it. */
  show(line, part = 0.35) {
    if (this.following) this.following = false;
    const around = this.rows.around(line);
    for (const section of around) this.rows.close(section, false);
    if (around.length) this.#sectionsChanged(around, false);
    this.list.go(this.rows.row(line), part);
    this.draw();
    this.tools.changed();
  }

  #toPointed() {
    this.picked = pointed();
    if (this.picked) this.show(this.picked[0], 0.2);
    this.list.render();
  }

  /** Show a line that an address asks for by its time, and what begins there. */
  #toMoment(line) {
    const section = this.rows.startingAt(line);
    if (this.rows.closed.has(section)) this.close(section, false);
    this.picked = [line, line];
    this.show(line, 0.2);
  }

  close(section, closed) {
    const line = this.rows.sections[section][0], inSight = this.rows.row(line) - this.list.top;
    this.rows.close(section, closed);
    this.#sectionsChanged([section], closed);
    if (inSight < 0) this.list.go(this.rows.row(line));
    this.draw();
    this.tools.changed();
  }

  #sectionsChanged(sections, closed) {
    const state = chosen();
    for (const section of sections) {
      state[closed ? "closed" : "opened"].add(section);
      state[closed ? "opened" : "closed"].delete(section);
    }
    choose(state);
    this.list.know(this.rows.count, true);
  }

  closeAll(closed) {
    const line = this.rows.line(this.list.top);
    this.rows.sections.forEach((_, section) => { if (closed) this.rows.closed.add(section); else this.rows.closed.delete(section); });
    this.rows.know(this.rows.total, this.rows.sections);
    choose({ opened: new Set(), closed: new Set(), all: closed ? "closed" : "opened" });
    this.list.know(this.rows.count, true);
    this.list.go(this.rows.row(line));
    this.draw();
    this.tools.changed();
  }

  /** The next error behind the middle of what is in sight, or the first of all. */
  nextError() {
    const from = this.error ?? this.rows.line(this.list.top) - 1;
    this.error = this.#errors.find((line) => line > from) ?? this.#errors[0];
    if (this.error) { this.picked = [this.error, this.error]; this.show(this.error); }
    return this.error;
  }

  get errors() { return this.#errors.length; }

  #found(first) {
    if (first && this.search.current < 0) this.toHit(this.search.near(this.rows.line(this.list.top)));
    this.draw();
    this.tools.changed();
  }

  toHit(line) {
    if (line) this.show(line);
  }

  #clicked(event) {
    const fold = event.target.closest(".fold"), number = event.target.closest("a.at");
    const heading = !fold && !event.target.closest("a") && event.target.closest(".heading")?.querySelector(".fold");
    if (fold || (heading && getSelection().isCollapsed)) {
      const { section } = (fold ?? heading).dataset;
      this.close(Number(section), !this.rows.closed.has(Number(section)));
      this.list.rows.querySelector(`.fold[data-section="${section}"]`)?.focus({ preventScroll: true });
    } else if (number) {
      event.preventDefault();
      const line = Number(number.textContent);
      const [first, last] = event.shiftKey && this.picked ? [Math.min(this.picked[0], line), Math.max(this.picked[0], line)] : [line, line];
      this.picked = [first, last];
      const address = point(this.picked);
      navigator.clipboard?.writeText(address).then(() => this.tools.say(`Link to ${named(this.picked).slice(1)} copied`), () => {});
      this.draw();
    }
  }
}
