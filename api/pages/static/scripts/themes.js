// The choice between the system's theme, light and dark; `theme.js` applies it before the page is drawn.
const ORDER = ["system", "light", "dark"];
const LABEL = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };

export function themes() {
  const button = document.getElementById("switch-theme");
  const root = document.documentElement;
  if (!button) return;
  const show = () => { button.setAttribute("aria-label", LABEL[root.dataset.theme ?? "system"]); button.title = LABEL[root.dataset.theme ?? "system"]; };
  button.addEventListener("click", () => {
    const next = ORDER[(ORDER.indexOf(root.dataset.theme ?? "system") + 1) % ORDER.length];
    if (next === "system") delete root.dataset.theme; else root.dataset.theme = next;
    try { if (next === "system") localStorage.removeItem("theme"); else localStorage.setItem("theme", next); } catch { /* for this page only */ }
    show();
  });
  show();
}
