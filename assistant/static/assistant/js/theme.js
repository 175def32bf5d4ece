/* Applies the chosen light or dark theme before the page is painted. Without a choice the system's theme applies. */
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) button.setAttribute("aria-pressed", String(isDark()));
  };
  const apply = (theme) => {
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
    else delete root.dataset.theme;
    show();
  };
  apply(read());
  addEventListener("DOMContentLoaded", show);
  addEventListener("storage", (event) => event.key === "theme" && apply(event.newValue));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-toggle]")) return;
    const theme = isDark() ? "light" : "dark";
    apply(theme);
    try {
      localStorage.setItem("theme", theme);
    } catch {
      /* no storage in some private windows: the choice lasts until the page is left */
    }
  });
})();
