// The bar above a log: buttons, search, and what the viewer says.
import { SAID, WAYS } from "./times.js";
import { Viewer } from "./viewer.js";

const kept = (name) => { try { return localStorage.getItem(`perdure-log-${name}`); } catch { return null; } };
const keep = (name, value) => { try { localStorage.setItem(`perdure-log-${name}`, value); } catch { /* not allowed to keep things */ } };
const lines = (count) => `${count.toLocaleString("en")} ${count === 1 ? "line" : "lines"}`;

export class Tools {
  constructor(element) {
    this.element = element;
    this.viewer = new Viewer(element, this);
    this.find("follow").addEventListener("click", () => this.viewer.follow(!this.viewer.following));
    this.find("more").addEventListener("click", () => this.viewer.follow(true));
    this.find("error").addEventListener("click", () => this.viewer.nextError());
    this.find("wrap").addEventListener("click", () => this.#wrap(!this.viewer.list.wraps));
    this.find("times").addEventListener("click", () => this.#times(WAYS[(WAYS.indexOf(this.viewer.times) + 1) % WAYS.length]));
    this.find("fold-all").addEventListener("click", () => this.viewer.closeAll(true));
    this.find("unfold-all").addEventListener("click", () => this.viewer.closeAll(false));
    this.find("full").addEventListener("click", () => this.#full());
    document.addEventListener("fullscreenchange", () => this.viewer.draw());
    addEventListener("resize", () => this.fit());
    this.#searching();
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  find(name) { return this.element.querySelector(`[data-log="${name}"]`); }

  async start() {
    for (const hidden of this.element.querySelectorAll("[data-script]")) hidden.hidden = false;
    this.#wrap(kept("wrap") === "yes", false);
    this.viewer.times = WAYS.includes(kept("times")) ? kept("times") : "off";
    this.#times(this.viewer.times, false);
    await this.viewer.start();
    this.element.querySelector(".log-static")?.remove();
    this.viewer.list.know(this.viewer.rows.count);
    this.viewer.draw();
  }

  /** The log reaches from where it begins to the lower edge of the window. */
  fit() {
    const top = this.viewer.list.scroller.getBoundingClientRect().top + scrollY;
    this.element.style.setProperty("--log-top", `${Math.round(top) + 24}px`);
  }

  #searching() {
    const form = this.find("search"), { q, pattern, exact } = form.elements, { viewer } = this;
    const look = () => viewer.search.look(q.value, { pattern: pattern.checked, exact: exact.checked });
    for (const field of [q, pattern, exact]) field.addEventListener("input", look);
    form.addEventListener("submit", (event) => { event.preventDefault(); look(); this.#hit(1); });
    q.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); this.#hit(-1); }
      if (event.key === "Escape") { q.value = ""; look(); viewer.list.scroller.focus({ preventScroll: true }); event.preventDefault(); }
    });
    this.find("next-hit").addEventListener("click", () => this.#hit(1));
    this.find("previous-hit").addEventListener("click", () => this.#hit(-1));
  }

  #hit(by) {
    const { search } = this.viewer;
    if (search.hits.length) this.viewer.toHit(search.current < 0 ? search.near(1) : search.step(by));
  }

  /** Keys that are taken only inside the viewer: browsers have them too. */
  #key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "f") {
      event.preventDefault();
      this.find("search").elements.q.select();
      return;
    }
    if (event.target !== this.viewer.list.scroller) return;
    const { list } = this.viewer, page = Math.max(20, list.height - 40);
    const moves = { ArrowDown: 20, ArrowUp: -20, PageDown: page, PageUp: -page, " ": event.shiftKey ? -page : page };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) list.by(moves[event.key]);
    else if (event.key === "Home") this.viewer.show(1, 0);
    else if (event.key === "End") this.viewer.follow(true);
    else return;
    event.preventDefault();
  }

  #wrap(wraps, keeps = true) {
    this.element.classList.toggle("wraps", wraps);
    this.find("wrap").setAttribute("aria-pressed", String(wraps));
    this.viewer.list.wrap(wraps);
    if (keeps) { keep("wrap", wraps ? "yes" : "no"); this.viewer.draw(); }
  }

  #times(way, keeps = true) {
    this.viewer.times = way;
    const button = this.find("times");
    button.setAttribute("aria-pressed", String(way !== "off"));
    button.setAttribute("aria-label", SAID[way]);
    button.title = SAID[way];
    if (keeps) { keep("times", way); this.say(SAID[way]); this.viewer.draw(); }
  }

  async #full() {
    try {
      if (document.fullscreenElement) await document.exitFullscreen(); else await this.element.requestFullscreen();
    } catch { this.element.classList.toggle("full"); }
    this.viewer.draw();
  }

  /** Tell everybody, those who do not see too. */
  say(text) { this.find("said").textContent = text; }

  changed() {
    const { viewer } = this;
    if (!viewer.outline) return;
    this.find("count").textContent = lines(viewer.rows.total);
    const follow = this.find("follow"), more = this.find("more"), { unseen } = viewer;
    follow.hidden = viewer.outline.frozen;
    follow.setAttribute("aria-pressed", String(viewer.following));
    more.hidden = unseen <= 0;
    if (unseen > 0) more.textContent = `↓ ${unseen.toLocaleString("en")} new ${unseen === 1 ? "line" : "lines"}`;
    this.find("error").hidden = !viewer.errors;
    const { said } = viewer.search, hits = this.find("hits");
    if (hits.textContent !== said) hits.textContent = said;
    for (const name of ["next-hit", "previous-hit"]) this.find(name).disabled = !viewer.search.hits.length;
    for (const name of ["fold-all", "unfold-all"]) this.find(name).hidden = !viewer.rows.sections.length;
  }
}
