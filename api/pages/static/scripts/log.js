// The log of a job: what follows is fetched when the page says that there is more.
const [log, box] = ["log", "follow"].map((id) => document.getElementById(id));
const toEnd = (inSight) => { log.scrollTop = log.scrollHeight; if (inSight) log.scrollIntoView({ block: "nearest" }); };
let fetching = false, missed = false;

async function more() {
  if (fetching) { missed = true; return; }
  fetching = true;
  try {
    for (let going = true; going;) {
      const { source, offset, generation, state } = log.dataset;
      const query = new URLSearchParams({ offset, generation, state });
      const response = await fetch(`${source}?${query}`, { headers: { Accept: "application/json" } });
      if (!response.ok) return;
      const piece = await response.json();
      const lines = document.getElementById("lines");
      const inSight = log.getBoundingClientRect().bottom <= innerHeight;
      if (piece.again) lines.replaceChildren();
      lines.insertAdjacentHTML("beforeend", piece.html);
      document.getElementById("tail").innerHTML = piece.tail;
      going = (piece.more && String(piece.offset) !== offset) || missed;
      missed = false;
      Object.assign(log.dataset, { offset: piece.offset, generation: piece.generation, state: piece.state });
      if (box.checked) toEnd(inSight);
    }
  } catch { /* the next event tries again */ } finally { fetching = false; }
}

if (log) {
  log.addEventListener("scroll", () => { box.checked = log.scrollHeight - log.scrollTop - log.clientHeight < 40; });
  if (location.hash.startsWith("#L")) box.checked = false; else toEnd(true);
  document.addEventListener("perdure:patched", more);
  document.addEventListener("perdure:connected", more);
}
