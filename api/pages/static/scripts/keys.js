// Keys: whatever has `data-key` ("r", "g p", "Control+k") is pressed or followed by it; the sheet lists what is there.
const PATIENCE = 1200; // milliseconds between the two keys of a pair
const typing = (element) => element && (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));
const said = { "Control+k": "Ctrl K" };

function sheet() {
  const list = document.querySelector("#keys dl");
  list.replaceChildren();
  const seen = new Set();
  for (const { dataset } of document.querySelectorAll("[data-key]")) {
    if (seen.has(dataset.key)) continue;
    seen.add(dataset.key);
    const keys = document.createElement("dt"), label = document.createElement("dd");
    for (const key of (said[dataset.key] ?? dataset.key).split(" ")) {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      keys.append(cap, " ");
    }
    label.textContent = dataset.keyLabel ?? "";
    list.append(keys, label);
  }
}

export function keys() {
  let first = "", at = 0;
  document.addEventListener("click", (event) => { if (event.target.closest('[data-open="keys"]')) sheet(); }, true);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.metaKey && event.key !== "k") return;
    const control = event.ctrlKey || event.metaKey;
    if (typing(event.target) && !control) return;
    if (document.querySelector("dialog[open]")) return;
    const pressed = control ? `Control+${event.key}` : event.key;
    const pair = Date.now() - at < PATIENCE ? `${first} ${pressed}` : "";
    const found = [pair, pressed].map((keys) => keys && document.querySelector(`[data-key="${CSS.escape(keys)}"]`)).find(Boolean);
    [first, at] = [pressed, Date.now()];
    if (!found) return;
    event.preventDefault();
    [first, at] = ["", 0];
    if (typing(found)) found.focus(); else found.click();
  });
}
