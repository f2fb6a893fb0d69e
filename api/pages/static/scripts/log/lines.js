// Lines of a log, fetched in windows as they are wanted; only some windows are kept.

const SIZE = 200, KEPT = 60, BUSY = 3, AGAIN = 1000;

export class Lines {
  generation = 0;
  total = 0;
  #windows = new Map(); // place -> lines that are there
  #asked = new Map(); // place -> AbortController
  #wanted = [];

  /** `arrived` is called when lines have come, `strange` when they are those of another generation. */
  constructor(source, arrived, strange) {
    this.source = source;
    this.arrived = arrived;
    this.strange = strange;
  }

  /** `[html, milliseconds, kind]`; undefined while it is not there. */
  get(line) {
    return this.#windows.get(Math.floor((line - 1) / SIZE))?.[(line - 1) % SIZE];
  }

  /** The log is so long now; its last line may have changed. */
  know(generation, total) {
    if (generation !== this.generation) this.#windows.clear();
    const place = Math.floor((this.total - 1) / SIZE), window = this.#windows.get(place);
    if (window && this.total) window.length = Math.min(window.length, (this.total - 1) % SIZE);
    this.#asked.get(place)?.abort();
    [this.generation, this.total] = [generation, total];
    this.#fetch();
  }

  /** These lines are looked at. */
  want(lines) {
    const places = new Set(lines.map((line) => Math.floor((line - 1) / SIZE)));
    this.#wanted = [...places].filter((place) => place >= 0 && place * SIZE < this.total);
    for (const place of this.#wanted) this.#touch(place);
    for (const [place, asking] of this.#asked) if (!places.has(place)) asking.abort();
    this.#fetch();
  }

  #touch(place) {
    const window = this.#windows.get(place);
    if (!window) return;
    this.#windows.delete(place);
    this.#windows.set(place, window);
  }

  #lacks(place) {
    return (this.#windows.get(place)?.length ?? 0) < Math.min(SIZE, this.total - place * SIZE);
  }

  #fetch() {
    for (const place of this.#wanted) {
      if (this.#asked.size >= BUSY) return;
      if (!this.#asked.has(place) && this.#lacks(place)) this.#ask(place);
    }
  }

  async #ask(place) {
    const asking = new AbortController(), had = this.#windows.get(place)?.length ?? 0;
    const { generation, total } = this;
    this.#asked.set(place, asking);
    let pause = 0;
    try {
      const query = new URLSearchParams({ first: place * SIZE + had + 1, count: SIZE - had });
      const response = await fetch(`${this.source}/lines?${query}`, { signal: asking.signal, headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(response.statusText);
      const found = await response.json();
      if (found.generation !== generation || this.generation !== generation) { this.strange(); pause = AGAIN; return; }
      this.#windows.set(place, [...(this.#windows.get(place) ?? []).slice(0, had), ...found.lines].slice(0, SIZE));
      this.#forget();
      if (!found.lines.length) pause = AGAIN; // it may be the beginning of a secret
      this.arrived();
    } catch (error) {
      pause = error.name === "AbortError" ? 0 : AGAIN; // the server is away; it comes back
    } finally {
      this.#asked.delete(place);
      if (pause) setTimeout(() => this.#fetch(), pause);
      else if (total <= this.total) this.#fetch();
    }
  }

  #forget() {
    for (const place of this.#windows.keys()) {
      if (this.#windows.size <= KEPT) return;
      if (!this.#wanted.includes(place)) this.#windows.delete(place);
    }
  }
}
