// The palette: type a few letters, go there. Results are links that the server draws.
export function palette() {
  const dialog = document.getElementById("palette"), opener = document.getElementById("open-palette");
  if (!dialog || !opener) return;
  const input = dialog.querySelector("input"), list = dialog.querySelector("ul");
  const links = () => [...list.querySelectorAll("a")];
  let asked = 0, waiting = 0;

  async function look() {
    const mine = ++asked, address = new URL(input.dataset.source, location.href);
    address.searchParams.set("q", input.value);
    try {
      const response = await fetch(address, { headers: { Accept: "text/html" } });
      if (mine !== asked || !response.ok) return;
      list.innerHTML = await response.text(); // escaped by the server
    } catch { /* the next letter asks again */ }
  }
  opener.addEventListener("click", () => { input.value = ""; dialog.showModal(); input.focus(); look(); });
  input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 120); });
  dialog.addEventListener("keydown", (event) => {
    const all = links(), at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && all.length) all[(at + 1) % all.length].focus();
    else if (event.key === "ArrowUp" && all.length) (at <= 0 ? input : all[at - 1]).focus();
    else if (event.key === "Enter" && document.activeElement === input && all.length) all[0].click();
    else return;
    event.preventDefault();
  });
}
