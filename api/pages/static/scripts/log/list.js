// A list of any length in a window: only rows in sight are in the page. Where it stands is a row and pixels of it; the
// scroll bar only says how it is moved, since a browser's elements end at some millions of pixels.

export const ROW = 20; // pixels of a row that is not wrapped; styles/log.css has the same
const TALLEST = 8_000_000, SETTLED = 120;

export class List {
  top = 0;
  shift = 0;
  wraps = false;
  count = 0;
  #drawn = new Map(); // row -> element
  #average = ROW;
  #last = 0;
  #timer = 0;

  /** `draw(row, element)` fills or makes a row's element; `moved(byReader)` is called after each move. */
  constructor(scroller, draw, moved) {
    this.scroller = scroller;
    this.space = scroller.querySelector(".log-space");
    this.pane = scroller.querySelector(".log-pane");
    this.rows = scroller.querySelector(".log-rows");
    [this.draw, this.moved] = [draw, moved];
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.pane.addEventListener("scroll", () => { this.pane.scrollTop = 0; });
    new ResizeObserver(() => { this.#size(); this.render(); }).observe(scroller);
  }

  get height() { return this.pane.clientHeight; }
  get #whole() { return this.count * this.#average; }
  get #range() { return Math.max(0, this.space.offsetHeight - this.scroller.clientHeight); }
  get #most() { return Math.max(0, this.#whole - this.height); }
  get first() { return this.top; }
  get lastDrawn() { return this.top + this.#drawn.size - 1; }

  get atEnd() {
    if (!this.count) return true;
    const last = this.#drawn.get(this.count - 1);
    return Boolean(last) && last.offsetTop + last.offsetHeight - this.shift <= this.height + 2;
  }

  /** The list has so many rows now; `change` says that they are others than before. */
  know(count, change = false) {
    this.count = count;
    if (change) this.#clear();
    this.top = Math.min(this.top, Math.max(0, count - 1));
    this.#size();
  }

  #clear() {
    this.#drawn.clear();
    this.rows.replaceChildren();
  }

  #size() {
    const height = Math.min(this.#whole, TALLEST);
    this.space.style.height = `${Math.max(height, 1)}px`;
    this.pane.style.height = `${Math.floor(this.scroller.getBoundingClientRect().height)}px`;
  }

  wrap(wraps) {
    this.wraps = wraps;
    this.#average = ROW;
    this.#clear();
    this.#size();
  }

  /** Show a row, `part` of the height below the upper edge. */
  go(row, part = 0) {
    this.top = Math.max(0, Math.min(row, this.count - 1));
    this.shift = 0;
    if (part) this.#by(-Math.round(this.height * part / ROW) * ROW);
    this.render();
    this.#settle();
  }

  toEnd() {
    this.top = Math.max(0, this.count - 1);
    this.shift = 0;
    if (this.wraps) {
      this.#place();
      this.#by(this.#height(this.top) - this.height);
    }
    this.render();
    this.#settle();
  }

  /** Move by pixels. */
  by(pixels) {
    this.#by(pixels);
    this.render();
    this.#settle();
    this.moved(true);
  }

  #scrolled() {
    const place = this.scroller.scrollTop, delta = place - this.#last;
    if (!delta) return;
    this.#last = place;
    if (Math.abs(delta) <= 2 * this.height) this.#by(delta);
    else {
      const y = place * (this.#range ? this.#most / this.#range : 0);
      this.top = Math.min(Math.floor(y / this.#average), Math.max(0, this.count - 1));
      this.shift = place >= this.#range ? 0 : Math.round(y % this.#average);
    }
    if (place >= this.#range - 1 && Math.abs(delta) > 2 * this.height) this.toEnd();
    else this.render();
    if (place <= 0 || place >= this.#range) this.#settle();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#settle(), SETTLED);
    this.moved(true);
  }

  /** The scroll bar stands where the list does; nothing moves by that. */
  #settle() {
    const y = this.atEnd ? this.#most : this.top * this.#average + this.shift;
    const wanted = Math.round(this.#most ? y / this.#most * this.#range : 0);
    if (Math.abs(this.scroller.scrollTop - wanted) > 1) this.scroller.scrollTop = wanted;
    this.#last = this.scroller.scrollTop;
  }

  #by(pixels) {
    this.shift += pixels;
    if (this.shift < 0) {
      const rows = Math.min(this.top, Math.ceil(-this.shift / ROW));
      this.top -= rows;
      if (this.wraps) {
        this.#place(rows);
        for (let row = this.top; row < this.top + rows; row += 1) this.shift += this.#drawn.get(row)?.offsetHeight ?? ROW;
      } else this.shift += rows * ROW;
      if (!this.top) this.shift = Math.max(0, this.shift);
    }
    this.#normal();
  }

  /** The upper edge is within the first row. */
  #normal() {
    for (let height; this.top < this.count - 1 && this.shift >= (height = this.#height(this.top)); this.top += 1) this.shift -= height;
  }

  #height(row) {
    return this.wraps ? this.#drawn.get(row)?.offsetHeight ?? ROW : ROW;
  }

  /** Draw what is in sight. */
  render() {
    if (!this.wraps) {
      const y = Math.max(0, Math.min(this.top * ROW + this.shift, this.count * ROW - this.height));
      [this.top, this.shift] = [Math.floor(y / ROW), y % ROW];
    }
    this.#place();
    const last = this.#drawn.get(this.count - 1);
    if (this.wraps && last) {
      const room = this.height + this.shift - last.offsetTop - last.offsetHeight;
      if (room > 0 && (this.top || this.shift)) { this.#by(-room); this.#place(); }
    }
    this.rows.style.transform = `translateY(${-this.shift}px)`;
    if (this.wraps) this.#estimate();
  }

  /** Draw the rows that reach the lower edge, `least` of them at least. */
  #place(least = 1) {
    const wanted = this.height + this.shift, drawn = new Map();
    let after = null;
    for (let row = this.top, y = 0; row < this.count && (y < wanted || row < this.top + least); row += 1) {
      const element = this.draw(row, this.#drawn.get(row));
      const next = after ? after.nextSibling : this.rows.firstChild;
      if (element !== next) this.rows.insertBefore(element, next);
      drawn.set(row, element);
      after = element;
      y += this.wraps ? element.offsetHeight : ROW;
    }
    for (const [row, element] of this.#drawn) if (drawn.get(row) !== element) element.remove();
    this.#drawn = drawn;
  }

  #estimate() {
    const average = Math.max(ROW, this.rows.offsetHeight / Math.max(1, this.#drawn.size));
    if (average > this.#average * 1.2) { this.#average = average; this.#size(); this.#settle(); }
  }
}
