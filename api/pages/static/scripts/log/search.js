// Search in the whole log: the server names the lines, part by part; what is in sight is marked here.

const PATIENCE = 200, MOST = 200_000, AGAIN = 1000;

export class Search {
  hits = [];
  current = -1;
  query = "";
  pattern = false;
  exact = false;
  #asking = null;
  #timer = 0;
  #from = 1;
  #busy = false;

  /** `changed(first)` is called when hits have come or gone; `first` says that these are the first of a query. */
  constructor(source, changed) {
    [this.source, this.changed] = [source, changed];
  }

  get busy() { return this.#busy; }

  look(query, { pattern = false, exact = false } = {}) {
    if (query === this.query && pattern === this.pattern && exact === this.exact) return;
    Object.assign(this, { query, pattern, exact, hits: [], current: -1, fault: "" });
    this.#from = 1;
    this.#asking?.abort();
    clearTimeout(this.#timer);
    this.#busy = Boolean(query);
    this.changed(false);
    if (query) this.#timer = setTimeout(() => this.#ask(), PATIENCE);
  }

  /** Lines from this one on are new, or not what they were. */
  again(line) {
    if (!this.query || this.#busy) return;
    while (this.hits.length && this.hits.at(-1) >= line) this.hits.pop();
    this.#from = Math.max(1, line);
    this.#ask();
  }

  async #ask() {
    this.#asking?.abort();
    const asking = this.#asking = new AbortController();
    this.#busy = true;
    try {
      for (let next = this.#from; next && this.hits.length < MOST;) {
        const query = new URLSearchParams({ q: this.query, first: next, pattern: this.pattern, exact: this.exact });
        const response = await fetch(`${this.source}/search?${query}`, { signal: asking.signal, headers: { Accept: "application/json" } });
        if (!response.ok) { await new Promise((resolve) => { setTimeout(resolve, AGAIN); }); continue; }
        const found = await response.json();
        if (asking.signal.aborted) return;
        if (found.fault) { this.fault = "not a pattern"; break; }
        const first = !this.hits.length && found.lines.length > 0;
        this.hits.push(...found.lines);
        next = this.#from = found.next;
        this.changed(first);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#timer = setTimeout(() => this.#ask(), AGAIN);
      return;
    }
    this.#busy = false;
    this.changed(false);
  }

  /** Go to the first hit on or behind a line, or if there is none to the first of all. */
  near(line) {
    const found = this.hits.findIndex((hit) => hit >= line);
    return this.#at(found < 0 ? 0 : found);
  }

  step(by) {
    return this.#at((this.current + by + this.hits.length) % this.hits.length);
  }

  #at(place) {
    if (!this.hits.length) return 0;
    this.current = place;
    return this.hits[place];
  }

  has(line) {
    let low = 0, high = this.hits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.hits[middle] < line) low = middle + 1; else high = middle;
    }
    return this.hits[low] === line;
  }

  get said() {
    if (!this.query) return "";
    if (this.fault) return this.fault;
    const more = this.#busy || this.hits.length >= MOST ? "+" : "";
    if (!this.hits.length) return this.#busy ? "searching" : "no hits";
    const all = `${this.hits.length.toLocaleString("en")}${more}`;
    return this.current < 0 ? all : `${(this.current + 1).toLocaleString("en")} / ${all}`;
  }

  /** Where a text has what is looked for: `[from, to]` of each place. */
  places(text) {
    if (!this.query) return [];
    if (this.pattern) {
      try {
        return [...text.matchAll(new RegExp(this.query, this.exact ? "gu" : "giu"))].filter(([all]) => all).map((found) => [found.index, found.index + found[0].length]);
      } catch { return []; } // RE2 knows things that browsers do not
    }
    const [within, wanted] = this.exact ? [text, this.query] : [text.toLowerCase(), this.query.toLowerCase()];
    const found = [];
    for (let place = within.indexOf(wanted); place >= 0; place = within.indexOf(wanted, place + wanted.length)) found.push([place, place + wanted.length]);
    return found;
  }
}

/** Mark the places in these elements, without touching them. */
export function highlight(search, elements) {
  if (!CSS.highlights) return;
  const ranges = [];
  for (const element of elements) {
    const places = search.places(element.textContent);
    if (!places.length) continue;
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let node = walker.nextNode(), before = 0;
    const seek = (place) => {
      while (node && before + node.length < place) { before += node.length; node = walker.nextNode(); }
      return node ? [node, place - before] : null;
    };
    for (const [from, to] of places) {
      const start = seek(from), range = new Range();
      if (!start) break;
      range.setStart(...start);
      const end = seek(to);
      if (!end) break;
      range.setEnd(...end);
      ranges.push(range);
    }
  }
  CSS.highlights.set("hit", new Highlight(...ranges));
}
