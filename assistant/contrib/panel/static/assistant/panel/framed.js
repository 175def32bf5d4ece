// A page of the panel in the frame of a project's page: the address and the title are those of the window, and what is
// not of the panel opens in the window.
const root = document.querySelector("meta[name='assistant-panel']").content;
const host = window.parent;

function isOfPanel(address) {
  const url = new URL(address, location.href);
  return url.origin === location.origin && url.pathname.startsWith(root);
}

// Light or dark, as Bootstrap, Bulma, Pico and Tailwind name it; else both go by the browser.
function appearance({dataset, classList}) {
  return dataset.theme ?? dataset.bsTheme ?? (classList.contains("dark") ? "dark" : "auto");
}

if (host !== window) {
  document.documentElement.dataset.theme = appearance(host.document.documentElement);
  host.history.replaceState(null, "", location.href);
  host.document.title = document.title;
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (link && !link.target && !link.hasAttribute("download") && !isOfPanel(link.href)) link.target = "_top";
  }, true);
  document.addEventListener("submit", (event) => {
    const action = event.submitter?.formAction ?? event.target.action;
    if (!isOfPanel(action)) event.target.target = "_top";
  }, true);
}
