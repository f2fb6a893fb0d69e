// The graph of a pipeline: what is pointed at lights up all that it waits for and all that waits for it; arrow keys walk
// from node to node; the picture grows and shrinks. Also the timeline: a click on a bar leads to the log at that time.
const view = document.getElementById("graph-view");
const svgOf = () => document.getElementById("graph");
const numberOf = (node) => Number(node.id.slice(2));
const nodeOf = (element) => element.closest && element.closest(".node");
const nodes = () => [...document.querySelectorAll("#graph .node")];
const cornerOf = (node) => node.getAttribute("transform").match(/[\d.]+/g).map(Number);

/** Who needs whom: `before` and `after` by number; a node that waits for its stage waits for all stages before. */
function links() {
  const before = new Map(), after = new Map(), stages = new Map();
  for (const node of nodes()) {
    const number = numberOf(node), stage = Number(node.dataset.stage);
    if (!stages.has(stage)) stages.set(stage, []);
    stages.get(stage).push(node);
    before.set(number, node.dataset.needs ? node.dataset.needs.split(" ").map(Number) : []);
    after.set(number, after.get(number) ?? []);
    for (const need of before.get(number)) after.set(need, [...(after.get(need) ?? []), number]);
  }
  return { before, after, stages };
}

/** Numbers that are reached in one direction; stages are passed whole, each once. */
function reached(start, { before, after, stages }, forwards) {
  const found = new Set([start]), passed = new Set(), waiting = [start];
  const add = (number) => { if (!found.has(number)) { found.add(number); waiting.push(number); } };
  while (waiting.length) {
    const number = waiting.pop(), node = document.getElementById(`n-${number}`);
    if (!node) continue;
    const stage = Number(node.dataset.stage);
    (forwards ? after : before).get(number).forEach(add);
    for (const [other, members] of stages) {
      if (forwards ? other > stage && !passed.has(`${stage}-${other}`) : other < stage && "after" in node.dataset && !passed.has(other)) {
        passed.add(forwards ? `${stage}-${other}` : other);
        for (const member of members) if (!forwards || "after" in member.dataset) add(numberOf(member));
      }
    }
  }
  return found;
}

function curve(from, to, width, height) {
  const [x1, y1] = [from[0] + width, from[1] + height / 2], [x2, y2] = [to[0], to[1] + height / 2];
  const bend = Math.max(20, Math.min(120, Math.abs(x2 - x1) / 2));
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

let lit = null;

function light(node) {
  const svg = svgOf();
  if (!svg || !document.getElementById("lit")) return;
  lit = node ? node.id : null;
  const all = nodes(), { width, height } = svg.dataset;
  svg.classList.toggle("has-lit", Boolean(node));
  if (!node) {
    for (const one of all) one.classList.remove("lit");
    document.getElementById("lit").setAttribute("d", "");
    return;
  }
  const known = links(), start = numberOf(node);
  const family = new Set([...reached(start, known, false), ...reached(start, known, true)]);
  const paths = [];
  for (const one of all) {
    const number = numberOf(one), isLit = family.has(number);
    one.classList.toggle("lit", isLit);
    if (isLit) for (const need of known.before.get(number)) {
      const from = family.has(need) && document.getElementById(`n-${need}`);
      if (from) paths.push(curve(cornerOf(from), cornerOf(one), Number(width), Number(height)));
    }
  }
  document.getElementById("lit").setAttribute("d", paths.join(" "));
}

/** Only one node is a stop of the tab key; arrows go to the others. */
function rove(current) {
  const all = nodes(), chosen = current ?? all.find((node) => node.querySelector("a").tabIndex === 0 && node.dataset.stop) ?? all[0];
  for (const node of all) {
    node.querySelector("a").tabIndex = node === chosen ? 0 : -1;
    if (node === chosen) node.dataset.stop = "1"; else delete node.dataset.stop;
  }
}

const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

function next(node, [dx, dy]) {
  const [x, y] = cornerOf(node);
  let best = null, least = Infinity;
  for (const other of nodes()) {
    const [a, b] = cornerOf(other), along = dx ? (a - x) * dx : (b - y) * dy, across = Math.abs(dx ? b - y : a - x);
    if (along <= 0 || (dy && across > 1)) continue;
    const far = along * (dx ? 3 : 1) + across;
    if (far < least) [best, least] = [other, far];
  }
  return best;
}

function walk(event) {
  const node = nodeOf(event.target), way = WAYS[event.key];
  if (!node || !way || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const other = next(node, way);
  if (!other) return;
  rove(other);
  other.querySelector("a").focus();
  other.scrollIntoView({ block: "nearest", inline: "nearest" });
}

let scale = 1;

function zoom(to) {
  const svg = svgOf(), box = svg.viewBox.baseVal;
  scale = Math.min(2, Math.max(0.05, to));
  svg.setAttribute("width", Math.round(box.width * scale));
  svg.setAttribute("height", Math.round(box.height * scale));
}

function fit() {
  const box = svgOf().viewBox.baseVal;
  zoom(Math.min(1, (view.clientWidth - 2) / box.width, (view.clientHeight - 2) / box.height));
}

function pressed(button) {
  const svg = svgOf();
  if (!svg) return;
  const isOn = svg.classList.toggle("show-critical");
  button.setAttribute("aria-pressed", String(isOn));
}

function acted(event) {
  const button = event.target.closest("[data-graph]");
  if (!button) return;
  const act = button.dataset.graph;
  if (act === "critical") pressed(button);
  else if (act === "fit") fit();
  else zoom(scale * (act === "in" ? 1.25 : 0.8));
}

/** The moment of a click on a bar, for the log at that time. */
function atThatTime(event) {
  const piece = event.target.closest && event.target.closest("rect.piece[data-t]");
  if (!piece) return;
  const bar = piece.closest("a");
  const address = new URL(bar.href.baseVal ?? bar.href, location.href);
  const box = piece.getBoundingClientRect(), end = Number(piece.dataset.end);
  const begin = Number(piece.dataset.t), share = box.width ? (event.clientX - box.left) / box.width : 0;
  address.searchParams.set("t", String(Math.round(begin + Math.max(0, end - begin) * Math.min(1, Math.max(0, share)))));
  bar.setAttribute("href", address.pathname + address.search);
}

document.addEventListener("click", acted);
document.addEventListener("click", atThatTime, true);
document.addEventListener("perdure:patched", () => {
  rove();
  if (scale !== 1 && view) zoom(scale);
  const button = document.querySelector('[data-graph="critical"]'), svg = svgOf();
  if (button && svg) svg.classList.toggle("show-critical", button.getAttribute("aria-pressed") === "true");
  if (lit) light(document.getElementById(lit));
});
if (svgOf()) {
  document.addEventListener("pointerover", (event) => { const node = nodeOf(event.target); if (node) light(node); });
  document.addEventListener("pointerout", (event) => { if (nodeOf(event.target) && !(event.relatedTarget && nodeOf(event.relatedTarget))) light(nodeOf(document.activeElement) || null); });
  document.addEventListener("focusin", (event) => { const node = nodeOf(event.target); if (node) { rove(node); light(node); } });
  document.addEventListener("focusout", (event) => { if (nodeOf(event.target)) light(null); });
  document.addEventListener("keydown", walk);
  rove();
}
