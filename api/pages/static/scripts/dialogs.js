// Dialogs: what is asked before a form is sent, and what buttons open.
const byId = (id) => document.getElementById(id);

/** Ask; resolves to whether the reader agrees. */
export function agreed(question, yes = "Go on") {
  const dialog = byId("question");
  dialog.querySelector("[data-text]").textContent = question;
  dialog.querySelector("[data-yes]").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

/** Forms with `data-question` are sent only by who agrees; `confirmed` tells the server that they did. */
export function askFirst() {
  const asked = new WeakSet();
  document.addEventListener("submit", async (event) => {
    const form = event.target, question = (event.submitter && event.submitter.dataset.question) || form.dataset.question;
    if (!question || asked.has(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const submitter = event.submitter;
    if (!(await agreed(question, submitter ? submitter.textContent.trim() : "Go on"))) return;
    if (!form.elements.confirmed) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "confirmed", value: "yes" }));
    asked.add(form);
    if (form.isConnected) form.requestSubmit(submitter && submitter.isConnected ? submitter : undefined);
    asked.delete(form);
  }, true);
}

/** `data-open` names a dialog; menus close when the reader goes elsewhere. */
export function openers() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-open]");
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target) || opener) menu.open = false;
    if (opener) byId(opener.dataset.open).showModal();
    if (event.target instanceof HTMLDialogElement && event.target.open) event.target.close("no");
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });
}
