"use strict"; // Loaded before the page is drawn: who has chosen a theme sees no other one, not even for a moment.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* no storage: as the system has it */ }
