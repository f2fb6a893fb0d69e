// What every page does: patches what is live, lets times pass, asks before it acts, knows keys.
import { follow } from "./live.js";
import { askFirst, openers } from "./dialogs.js";
import { keys } from "./keys.js";
import { palette } from "./palette.js";
import { themes } from "./themes.js";
import { keepTime } from "./times.js";

document.addEventListener("htmx:config:request", ({ detail }) => {
  detail.ctx.request.headers["X-CSRF-Token"] = document.querySelector('meta[name="csrf-token"]').content;
});
askFirst();
openers();
keys();
palette();
themes();
keepTime();
follow();
