// True colours: the server gives their nearest class of the palette, and themselves as data. Text is made readable on
// the ground of both themes, as the palette is (tests/api/pages/jobs/palette_sheet.py has the same rule).

const LIGHT = [251, 251, 252], DARK = [11, 13, 15], ENOUGH = 4.5, STEPS = 20;

const parsed = (text) => [0, 2, 4].map((place) => parseInt(text.slice(place, place + 2), 16));
const shown = (colour) => `rgb(${colour.join(" ")})`;

function luminance(colour) {
  const [red, green, blue] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** The colour, moved towards black or white until it can be read on that ground. */
export function readable(colour, ground) {
  const goal = luminance(ground) > 0.5 ? 0 : 255;
  for (let step = 0; step <= STEPS; step += 1) {
    const moved = colour.map((part) => Math.round(part + (goal - part) * step / STEPS));
    if (contrast(moved, ground) >= ENOUGH) return moved;
  }
  return [goal, goal, goal];
}

export function paint(element) {
  for (const span of element.querySelectorAll("[data-f], [data-b]")) {
    const { f, b } = span.dataset;
    if (b) {
      const ground = parsed(b);
      span.style.backgroundColor = shown(ground);
      if (!f) span.style.color = luminance(ground) > 0.18 ? "#000" : "#fff";
    }
    if (f) {
      const colour = parsed(f);
      span.style.color = span.classList.contains("on") ? shown(colour) : `light-dark(${shown(readable(colour, LIGHT))}, ${shown(readable(colour, DARK))})`;
    }
  }
}
