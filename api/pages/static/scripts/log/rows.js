// Which lines of a log are rows: those that no closed section hides. Lines count from 1, rows from 0.

const START = 0, END = 1, COLLAPSED = 3, ALONE = 5;

export class Rows {
  total = 0;
  sections = [];
  closed = new Set(); // places in `sections`
  count = 0;
  #from = [];
  #to = [];
  #before = []; // how many lines are hidden before each of these stretches

  /** Take what is known of a log; sections stay closed or open as they are. */
  know(total, sections) {
    this.total = total;
    this.sections = sections;
    this.#measure();
  }

  close(section, closed) {
    if (closed) this.closed.add(section); else this.closed.delete(section);
    this.#measure();
  }

  /** The last line that a section hides when it is closed. */
  last(section) {
    const { [END]: end, [ALONE]: alone } = this.sections[section];
    return end ? end - (alone ? 0 : 1) : this.total;
  }

  #measure() {
    const hidden = [];
    this.sections.forEach((section, place) => {
      if (this.closed.has(place)) hidden.push([section[START] + 1, this.last(place)]);
      else if (section[END] && section[ALONE]) hidden.push([section[END], section[END]]);
    });
    hidden.sort(([a], [b]) => a - b);
    this.#from = [];
    this.#to = [];
    this.#before = [];
    let before = 0;
    for (const [from, to] of hidden) {
      const last = this.#to.length - 1;
      const begin = last >= 0 ? Math.max(from, this.#to[last] + 1) : from;
      if (begin > to) continue;
      this.#from.push(begin);
      this.#to.push(to);
      this.#before.push(before);
      before += to - begin + 1;
    }
    this.count = this.total - before;
  }

  #find(is) {
    let low = 0, high = this.#from.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (is(middle)) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  line(row) {
    const place = this.#find((k) => this.#from[k] - 1 - this.#before[k] <= row);
    return place < 0 ? row + 1 : row + 1 + this.#before[place] + this.#to[place] - this.#from[place] + 1;
  }

  /** The row of a line; of a hidden one that of the heading above it. */
  row(line) {
    const place = this.#find((k) => this.#from[k] <= line);
    if (place < 0) return line - 1;
    if (line <= this.#to[place]) return Math.max(0, this.#from[place] - 2 - this.#before[place]);
    return line - 1 - this.#before[place] - (this.#to[place] - this.#from[place] + 1);
  }

  /** Closed sections in which a line is hidden. */
  around(line) {
    return [...this.closed].filter((place) => this.sections[place][START] < line && line <= this.last(place));
  }

  /** The innermost section that begins on a line; -1 if none does. */
  startingAt(line) {
    let low = 0, high = this.sections.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sections[middle][START] <= line) low = middle + 1; else high = middle;
    }
    return low > 0 && this.sections[low - 1][START] === line ? low - 1 : -1;
  }

  /** Whether a section wants to be closed before anybody has said so. */
  wantsClosed(section) {
    return this.sections[section][COLLAPSED];
  }
}
