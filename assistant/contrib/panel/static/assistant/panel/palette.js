// The command palette: Control or Command and K, or the button, over pages and whatever the search finds.
const button = document.querySelector("[data-palette]");
const WAIT = 150;
const MIN_LENGTH = 2;
let palette;
let pages = [];
let shown = [];
let current = 0;
let asked = 0;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

async function groupsOf(text) {
  const response = await fetch(`${button.dataset.palette}?${new URLSearchParams({ q: text })}`, { headers: { Accept: "application/json" } });
  // Signed out: the page itself leads to signing in.
  if (!response.ok || response.redirected) location.reload();
  return (await response.json()).groups;
}

function choose(place) {
  current = (place + shown.length) % (shown.length || 1);
  shown.forEach((option, number) => option.setAttribute("aria-selected", String(number === current)));
  shown[current]?.scrollIntoView({ block: "nearest" });
  palette.field.setAttribute("aria-activedescendant", shown[current]?.id ?? "");
}

function draw(groups) {
  shown = [];
  const parts = groups.filter((group) => group.links.length).map((group) => {
    const links = group.links.map((link) => {
      const option = element("a", { href: link.url, id: `palette-${shown.length}`, tabIndex: -1 }, element("span", { textContent: link.name, dir: "auto" }));
      if (link.belongsTo) option.append(element("small", { textContent: link.belongsTo, dir: "auto" }));
      option.setAttribute("role", "option");
      shown.push(option);
      return option;
    });
    const part = element("div", {}, element("h3", { textContent: group.title }), ...links);
    part.setAttribute("role", "group");
    part.setAttribute("aria-label", group.title);
    return part;
  });
  palette.list.replaceChildren(...(parts.length ? parts : [element("p", { textContent: button.dataset.nothing })]));
  choose(0);
}

function pagesLike(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return pages.map((group) => ({
    ...group,
    links: group.links.filter((link) => words.every((word) => `${link.name} ${link.belongsTo}`.toLowerCase().includes(word))),
  }));
}

async function find() {
  const text = palette.field.value.trim();
  const turn = ++asked;
  draw(pagesLike(text));
  if (text.length < MIN_LENGTH) return;
  await new Promise((done) => setTimeout(done, WAIT));
  if (turn !== asked) return;
  const found = await groupsOf(text);
  if (turn === asked) draw([...pagesLike(text), ...found]);
}

function onKey(event) {
  const moves = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in moves) {
    event.preventDefault();
    choose(current + moves[event.key]);
  } else if (event.key === "Enter" && shown[current]) {
    event.preventDefault();
    shown[current].click();
  }
}

function make() {
  const field = element("input", { type: "text", maxLength: 100, placeholder: button.getAttribute("aria-label") });
  const list = element("div", { id: "palette-list" });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", button.getAttribute("aria-label"));
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-controls", "palette-list"], ["aria-label", button.getAttribute("aria-label")]]) field.setAttribute(name, value);
  const dialog = element("dialog", { className: "palette" }, field, list);
  field.addEventListener("input", find);
  field.addEventListener("keydown", onKey);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  return { dialog, field, list };
}

async function open() {
  palette ??= make();
  palette.field.value = "";
  palette.dialog.showModal();
  if (!pages.length) pages = await groupsOf("");
  // By now something may have been typed.
  find();
}

if (button) {
  button.addEventListener("click", open);
  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (palette?.dialog.open) palette.dialog.close();
    else open();
  });
}
