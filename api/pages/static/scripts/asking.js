// Forms that the server looks at while they are filled in: what a branch asks for, a plan, the next ticks. The form is
// sent as it stands to `data-asks`, and parts of the page that comes back are put in place. Rows for variables grow.
const PAUSE = 300; // milliseconds without typing before we ask

const text = (form) => new URLSearchParams(new FormData(form)).toString();

function put(id, page) {
  const old = document.getElementById(id), fresh = page.getElementById(id);
  if (!old || !fresh || old.outerHTML === fresh.outerHTML) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(document.adoptNode(fresh));
  if (focused) document.getElementById(focused)?.focus();
  grow(fresh);
}

/** Ask what the form would be; true unless the server could not be asked. Typing meanwhile asks once more. */
async function ask(form, parts) {
  for (const id of parts) document.getElementById(id)?.setAttribute("aria-busy", "true");
  try {
    for (let sent = null; sent !== text(form);) {
      sent = text(form);
      const response = await fetch(form.dataset.asks, {
        method: "POST", body: sent, headers: { "Content-Type": "application/x-www-form-urlencoded", Accept: "text/html" },
      });
      if (response.status !== 200) return false;
      const page = new DOMParser().parseFromString(await response.text(), "text/html"); // escaped by the server
      if (sent === text(form)) {
        for (const id of parts) put(id, page);
        return true;
      }
    }
    return true;
  } catch {
    return false;
  } finally {
    for (const id of parts) document.getElementById(id)?.removeAttribute("aria-busy");
  }
}

function follow(form) {
  let timer = 0;
  const soon = (parts, pause) => { clearTimeout(timer); timer = setTimeout(() => ask(form, parts), pause); };
  form.addEventListener("input", ({ target }) => { if (target.dataset.tells) soon([target.dataset.tells], PAUSE); });
  form.addEventListener("change", ({ target }) => { if ("decides" in target.dataset) soon(form.dataset.parts.split(" "), 0); });
  form.addEventListener("click", ({ target }) => {
    const preset = target.closest("[data-sets]");
    if (!preset) return;
    const field = document.getElementById(preset.dataset.sets);
    field.value = preset.dataset.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });
  const passed = new WeakSet();
  form.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (!button?.dataset.shows || passed.has(button)) return;
    event.preventDefault();
    if (await ask(form, [...button.dataset.shows.split(" "), "faults"])) {
      document.getElementById(button.dataset.shows.split(" ")[0])?.scrollIntoView({ block: "nearest" });
      return;
    }
    passed.add(button); // then as without a script
    form.requestSubmit(button);
  });
  for (const button of form.querySelectorAll("[data-without-script]")) button.hidden = true;
  for (const button of form.querySelectorAll("[data-with-script]")) button.hidden = false;
}

/** One empty row stands at the end of each list of rows; a new one comes when it is used. */
function grow(root) {
  for (const rows of root.querySelectorAll("[data-rows]")) {
    const all = () => [...rows.querySelectorAll("[data-row]")];
    const isEmpty = (row) => [...row.querySelectorAll("input, textarea")].every((field) => !field.value);
    for (const row of all().filter(isEmpty).slice(1)) row.remove();
    for (const button of rows.querySelectorAll("[data-removes]")) button.hidden = false;
    const pattern = (all().find(isEmpty) ?? all().at(-1)).cloneNode(true);
    const more = () => {
      if (all().some(isEmpty)) return;
      const row = pattern.cloneNode(true);
      for (const field of row.querySelectorAll("input, textarea")) field.value = "";
      for (const choice of row.querySelectorAll("select")) choice.selectedIndex = 0;
      all().at(-1).after(row);
    };
    rows.addEventListener("input", more);
    rows.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-removes]");
      if (!button) return;
      const row = button.closest("[data-row]"), next = row.nextElementSibling ?? row.previousElementSibling;
      if (all().length > 1) row.remove();
      else for (const field of row.querySelectorAll("input, textarea")) field.value = "";
      more();
      next?.querySelector("input")?.focus();
    });
    more();
  }
}

for (const form of document.querySelectorAll("form[data-asks]")) follow(form);
grow(document);
