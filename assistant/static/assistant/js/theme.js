/* Applies the chosen light or dark theme before the page is painted. Without a choice the system's theme applies.

   Of a person who is signed in and has chosen, the server knows the choice and has applied it. The browser's storage
   keeps it for pages before sign-in. */
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };
  const keep = (theme) => {
    try {
      if (theme === "system") localStorage.removeItem("theme");
      else localStorage.setItem("theme", theme);
    } catch {
      /* no storage in some private windows: the choice lasts until the page is left */
    }
  };
  const show = () => {
    const chosen = root.dataset.theme ?? "system";
    for (const button of document.querySelectorAll("[data-choose-theme]")) button.setAttribute("aria-pressed", String(button.dataset.chooseTheme === chosen));
  };
  const apply = (theme) => {
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
    else delete root.dataset.theme;
    show();
  };
  const { ownTheme } = root.dataset;
  if (ownTheme) keep(ownTheme);
  apply(ownTheme ?? read());
  addEventListener("DOMContentLoaded", show);
  addEventListener("storage", (event) => event.key === "theme" && apply(event.newValue));
  addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-choose-theme]");
    if (!button) return;
    const theme = button.dataset.chooseTheme;
    apply(theme);
    keep(theme);
    button.closest("details").open = false;
    const body = new URLSearchParams({ theme });
    const headers = { "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value };
    // If it cannot be stored, it lasts in this browser.
    fetch(button.closest("[data-theme-menu]").dataset.themeMenu, { method: "POST", body, headers }).catch(() => {});
  });
})();
