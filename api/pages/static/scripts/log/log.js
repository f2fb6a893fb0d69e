// Begins the viewer of a page that has a log.
import { Tools } from "./tools.js";

const element = document.getElementById("log");
if (element) {
  const tools = new Tools(element);
  tools.start();
  for (const name of ["perdure:patched", "perdure:connected"]) {
    document.addEventListener(name, () => {
      if (!tools.viewer.outline) return;
      tools.fit();
      tools.viewer.refresh();
    });
  }
}
