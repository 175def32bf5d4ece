// The lists of the panel: menus close by themselves, and a look at a row is shown beside the list.
const menus = [...document.querySelectorAll("details.list-menu")];
const LONG_MENU = 12;

function closeMenus(but) {
  for (const menu of menus) if (menu !== but) menu.open = false;
}

addEventListener("click", (event) => closeMenus(event.target.closest?.("details.list-menu")));
addEventListener("keydown", (event) => {
  const open = menus.find((menu) => menu.open);
  if (event.key !== "Escape" || !open) return;
  open.open = false;
  open.querySelector("summary").focus();
});

// A long menu has a field that narrows it.
for (const menu of menus) {
  const items = [...menu.querySelectorAll("li")];
  if (items.length <= LONG_MENU) continue;
  const field = Object.assign(document.createElement("input"), { type: "text" });
  field.setAttribute("aria-label", menu.querySelector("summary").textContent.trim());
  menu.querySelector("ul").prepend(field);
  field.addEventListener("input", () => {
    const word = field.value.toLowerCase();
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(word);
  });
  menu.addEventListener("toggle", () => menu.open && field.focus());
}

const table = document.getElementById("result_list");
const rows = table ? [...table.tBodies[0].rows].filter((row) => row.querySelector("a.look")) : [];
let pane;
let looked;

function makePane() {
  const made = document.createElement("dialog");
  made.className = "look-pane";
  const header = document.createElement("header");
  const heading = document.createElement("h2");
  const buttons = [["↑", () => step(-1)], ["↓", () => step(1)], ["×", () => made.close()]].map(([sign, act]) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: sign });
    button.addEventListener("click", act);
    return button;
  });
  header.append(heading, ...buttons);
  const body = document.createElement("div");
  made.append(header, body);
  made.setAttribute("aria-labelledby", (heading.id = "look-heading"));
  made.addEventListener("close", () => {
    looked?.classList.remove("is-looked-at");
    looked?.querySelector("a.look").focus();
  });
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape") made.close();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    }
  });
  document.body.append(made);
  return made;
}

async function look(row) {
  const address = row.querySelector("a.look").href;
  const response = await fetch(address, { headers: { "X-Requested-With": "fetch" } });
  // Signed out, or a reason is asked for: the page itself says so.
  if (!response.ok || response.redirected) return location.assign(address);
  const part = new DOMParser().parseFromString(await response.text(), "text/html").querySelector(".look-facts");
  pane ??= makePane();
  looked?.classList.remove("is-looked-at");
  looked = row;
  row.classList.add("is-looked-at");
  row.scrollIntoView({ block: "nearest" });
  pane.querySelector("h2").textContent = part.getAttribute("aria-label");
  pane.lastElementChild.replaceChildren(part);
  if (!pane.open) pane.show();
  pane.querySelector("header button:last-child").focus();
}

function step(by) {
  const next = rows[rows.indexOf(looked) + by];
  if (next) look(next);
}

table?.addEventListener("click", (event) => {
  const link = event.target.closest("a.look");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  look(link.closest("tr"));
});
