// The board of tools by tenants: moves with the arrow keys, selects and turns cells; and asks before a change that
// reaches several tenants, here and on a tool's page. Without this script the boxes and buttons are a plain form.
const NEXT = { on: "ask", ask: "off", off: "on" };
const REMEMBERED = "board-cell";
const main = document.querySelector(".tool-board");
const board = document.getElementById("board");
const dialog = document.getElementById("confirm");

async function post(form, fields) {
  const body = new FormData(form);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const response = await fetch(location.href, { method: "POST", body, headers: { "X-Requested-With": "fetch" } });
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
  if (isJson) {
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }
  if (!response.ok || response.redirected) throw new Error(`${response.status} ${response.statusText}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Shows who is affected; its form is submitted as any other.
function ask(page) {
  const form = page.getElementById("affected");
  if (!form) throw new Error("signed out");
  dialog.replaceChildren(document.adoptNode(form));
  dialog.querySelector("[data-close]").addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  dialog.showModal();
  dialog.querySelector("button[type=submit]").focus();
}

function undo() {
  const form = document.getElementById("undo");
  if (!form.hidden) form.requestSubmit(form.querySelector("button"));
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches?.("input:not([type=checkbox]), select, textarea");
  if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !isTyping && !dialog?.open) {
    event.preventDefault();
    undo();
  }
});

for (const form of main.querySelectorAll(".set-all")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { name, value } = event.submitter;
    post(form, { [name]: value }).then(ask, () => {
      const input = Object.assign(document.createElement("input"), { type: "hidden", name, value });
      form.append(input);
      form.submit();
    });
  });
}

const isTool = (cell) => !cell.classList.contains("none");

class Board {
  constructor(form) {
    this.form = form;
    this.table = form.querySelector(".grid");
    this.rows = [...this.table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
    this.tools = [...this.table.tHead.rows[0].cells].slice(1).map((cell) => cell.dataset.tool);
    this.texts = JSON.parse(document.getElementById("board-texts").textContent);
    this.words = JSON.parse(document.getElementById("board-words").textContent);
    this.selected = new Set();
    // The version of each cell that was read again since the page was loaded.
    this.seen = new Map();
    this.waiting = Promise.resolve();
    this.place = new Map();
    this.table.setAttribute("role", "grid");
    this.table.setAttribute("aria-multiselectable", "true");
    for (const [y, cells] of this.rows.entries()) {
      for (const [x, cell] of cells.entries()) {
        this.place.set(cell, [y, x]);
        cell.setAttribute("role", "gridcell");
        cell.tabIndex = -1;
      }
    }
    this.current = this.remembered() ?? this.rows[0]?.[0];
    if (this.current) this.current.tabIndex = 0;
    this.table.addEventListener("focusin", (event) => this.onFocus(event));
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.table.addEventListener("mousedown", (event) => this.onPress(event));
    this.table.addEventListener("change", (event) => this.onTick(event));
    form.addEventListener("submit", (event) => this.onSubmit(event));
    this.showActions();
  }

  remembered() {
    const [tenant, tool] = (sessionStorage.getItem(REMEMBERED) ?? "").split(":");
    sessionStorage.removeItem(REMEMBERED);
    const cell = this.cellOf(tenant, tool);
    if (cell) setTimeout(() => cell.focus());
    return cell;
  }

  cellOf(tenant, tool) {
    const row = this.table.querySelector(`tr[data-tenant="${CSS.escape(tenant ?? "")}"]`);
    return row?.cells[this.tools.indexOf(tool) + 1]?.closest("td");
  }

  target(cell) {
    return `${cell.parentElement.dataset.tenant}:${this.tools[this.place.get(cell)[1]]}`;
  }

  onFocus(event) {
    const cell = event.target.closest("td");
    if (!cell) return;
    this.current.tabIndex = -1;
    this.current = cell;
    cell.tabIndex = 0;
    this.touched = true;
    this.describe();
    this.showActions();
  }

  onPress(event) {
    const cell = event.target.closest("td");
    if (!cell) return;
    if (event.shiftKey) {
      event.preventDefault();
      this.extendTo(cell);
    } else if (event.ctrlKey || event.metaKey) {
      this.select([cell], !this.selected.has(cell));
    } else {
      this.clear();
      this.anchor = cell;
    }
    cell.focus();
  }

  onTick(event) {
    const box = event.target;
    const cells =
      box.name === "row"
        ? this.rows[[...this.table.tBodies[0].rows].indexOf(box.closest("tr"))]
        : this.rows.map((row) => row[this.tools.indexOf(box.value)]);
    this.select(cells, box.checked);
    this.describe();
  }

  onKey(event) {
    const cell = event.target.closest("td");
    if (event.key === "Escape") this.clear();
    if (!cell) {
      this.enter(event);
    } else if (event.key === " " && !event.ctrlKey) {
      event.preventDefault();
      const own = /own-(\w+)/.exec(cell.className)?.[1];
      this.set(NEXT[own ?? ["on", "ask"].find((one) => cell.classList.contains(one)) ?? "off"]);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.set("follow");
    } else if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.select(this.rows.flat(), true);
    } else {
      this.move(event, cell);
    }
  }

  // An arrow leads from a head into its column or row, so that Tab need not pass all heads.
  enter(event) {
    const head = event.target.closest("th");
    const forward = getComputedStyle(this.table).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const cells = {
      ArrowDown: this.rows[0]?.[this.tools.indexOf(head?.dataset.tool)],
      [forward]: this.rows[[...this.table.tBodies[0].rows].indexOf(head?.parentElement)]?.[0],
    };
    const cell = cells[event.key];
    if (!cell) return;
    event.preventDefault();
    cell.focus();
  }

  move(event, cell) {
    const [y, x] = this.place.get(cell);
    const forward = getComputedStyle(this.table).direction === "rtl" ? -1 : 1;
    const [last, end] = [this.rows.length - 1, this.tools.length - 1];
    const steps = {
      ArrowUp: [y - 1, x],
      ArrowDown: [y + 1, x],
      ArrowLeft: [y, x - forward],
      ArrowRight: [y, x + forward],
      PageUp: [y - 10, x],
      PageDown: [y + 10, x],
      Home: event.ctrlKey ? [0, 0] : [y, 0],
      End: event.ctrlKey ? [last, end] : [y, end],
    };
    const step = steps[event.key];
    if (!step || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = this.rows[Math.min(Math.max(step[0], 0), last)][Math.min(Math.max(step[1], 0), end)];
    if (event.shiftKey) {
      this.anchor ??= cell;
      this.extendTo(next);
    } else {
      this.anchor = undefined;
    }
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  extendTo(cell) {
    const [from, to] = [this.place.get(this.anchor ?? this.current), this.place.get(cell)];
    this.anchor ??= this.current;
    this.clear(false);
    const [top, bottom] = [Math.min(from[0], to[0]), Math.max(from[0], to[0])];
    const [left, right] = [Math.min(from[1], to[1]), Math.max(from[1], to[1])];
    this.select(this.rows.slice(top, bottom + 1).flatMap((row) => row.slice(left, right + 1)), true);
  }

  // Cells of tools that a tenant does not have cannot be selected.
  select(cells, isOn) {
    for (const cell of cells.filter(isTool)) {
      cell.classList.toggle("selected", isOn);
      cell.setAttribute("aria-selected", String(isOn));
      if (isOn) this.selected.add(cell);
      else this.selected.delete(cell);
    }
    this.showActions();
  }

  clear(withAnchor = true) {
    this.select([...this.selected], false);
    for (const box of this.table.querySelectorAll("input:checked")) box.checked = false;
    if (withAnchor) this.anchor = undefined;
    this.describe();
  }

  chosen() {
    if (this.selected.size) return [...this.selected];
    return this.touched && isTool(this.current) ? [this.current] : [];
  }

  showActions() {
    const isEmpty = !this.chosen().length;
    for (const button of this.form.querySelectorAll(".board-actions button")) button.disabled = isEmpty;
  }

  onSubmit(event) {
    if (!event.submitter?.closest(".board-actions")) return;
    event.preventDefault();
    this.set(event.submitter.value);
  }

  // One change after the other, so that quick presses of Space arrive in their order.
  set(policy) {
    const cells = this.chosen();
    if (!cells.length) return;
    const targets = cells.map((cell) => this.target(cell));
    const before = cells.map((cell) => [cell, cell.className]);
    const isOne = new Set(cells.map((cell) => cell.parentElement)).size === 1;
    if (isOne) {
      for (const cell of cells) {
        const shown = policy === "follow" ? cell.className.replace(/\bown\S*/g, "") : `${policy} own own-${policy}`;
        cell.className = `${cell.classList.contains("blocked") ? "off blocked own own-" + policy : shown} busy${cell.classList.contains("selected") ? " selected" : ""}`;
      }
    }
    sessionStorage.setItem(REMEMBERED, this.target(this.current));
    this.waiting = this.waiting
      .then(() => post(this.form, { cells: targets.join(","), policy, row: "", column: "", seen: this.seenOf(cells) }))
      .then((answer) => (answer instanceof Document ? ask(answer) : this.apply(answer)))
      .catch((error) => {
        for (const [cell, classes] of before) cell.className = classes;
        this.say(error.message, true);
      });
  }

  seenOf(cells) {
    return Math.min(...cells.map((cell) => this.seen.get(cell) ?? Number(this.form.elements.seen.value)));
  }

  apply(answer) {
    sessionStorage.removeItem(REMEMBERED);
    for (const [tool, shown] of Object.entries(answer.cells)) {
      const cell = this.cellOf(String(answer.tenant), tool);
      cell.className = shown.class + (this.selected.has(cell) ? " selected" : "");
      cell.textContent = shown.word;
      cell.dataset.r = this.texts.rules.push(shown.texts) - 1;
      cell.dataset.n = this.texts.notes.push(shown.note) - 1;
      this.seen.set(cell, answer.seen);
    }
    const form = document.getElementById("undo");
    form.hidden = !answer.undo;
    if (answer.undo) {
      form.querySelector("#undo-sentence").textContent = answer.undo.sentence;
      form.querySelector("button").value = answer.undo.id;
    }
    this.describe();
    if (answer.overtaken) this.say(answer.overtaken, true);
  }

  describe() {
    const cells = [...this.selected];
    if (cells.length > 1) {
      const tenants = new Set(cells.map((cell) => cell.parentElement)).size;
      const words = [this.words.selected.replace("{count}", cells.length), this.words.tenants.replace("{count}", tenants)];
      this.say(words.join(", "));
      return;
    }
    const cell = this.current;
    if (!cell || !this.touched) return;
    const tenant = cell.parentElement.querySelector("th a").textContent;
    if (!isTool(cell)) {
      this.say(`${this.tools[this.place.get(cell)[1]]}, ${tenant}: ${this.words.none}.`);
      return;
    }
    const [rule, after] = this.texts.rules[cell.dataset.r];
    const own = cell.classList.contains("own") ? ` (${this.words.own})` : "";
    this.say(`${this.tools[this.place.get(cell)[1]]}, ${tenant}: ${cell.textContent}${own}.`);
    document.getElementById("about-rule").textContent = rule;
    document.getElementById("about-now").textContent = cell.dataset.now ?? "";
    document.getElementById("about-after").textContent = after && `${this.words.after}: ${after}`;
    document.getElementById("about-last").textContent = this.texts.notes[cell.dataset.n];
  }

  say(what, isError = false) {
    for (const id of ["about-rule", "about-now", "about-after", "about-last"]) document.getElementById(id).textContent = "";
    document.getElementById("about-what").textContent = what;
    this.form.querySelector(".board-about").classList.toggle("error", isError);
  }
}

if (board) new Board(board);
