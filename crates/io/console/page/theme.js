// Runs before the first paint, so that a chosen theme does not flash. The choice is `?theme=dark|light` of the address,
// else what the button stored, else that of the system.
"use strict";

(() => {
  const asked = new URLSearchParams(location.search).get("theme");
  let theme = asked;
  try {
    theme ??= localStorage.getItem("stunner-theme");
  } catch {
    // Storage may be forbidden; the system's theme is fine then.
  }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
