/* Uploads documents one by one, each in a request of its own, and shows what became of each. */

const form = document.getElementById("document-upload");
const [picked, folder] = [form.elements.namedItem("uploads"), document.getElementById("folder")];
const stop = document.getElementById("stop");
const report = document.getElementById("upload-report");
const rows = report.querySelector("tbody");
const bar = document.getElementById("upload-progress");
const count = document.getElementById("upload-count");
const { maxBytes, maxFiles, tooLarge, unreachable, progress, refused, waiting, reading } = form.dataset;
let stopped = null; // aborts the request that runs

document.getElementById("folder-row").hidden = !("webkitdirectory" in folder);

/** Return the chosen files; those of a folder without hidden ones. */
function chosen() {
  const inside = [...folder.files].filter((file) => !file.webkitRelativePath.split("/").some((part) => part.startsWith(".")));
  return [...picked.files, ...inside].slice(0, Number(maxFiles));
}

function line(file) {
  const row = rows.insertRow();
  for (const text of [file.webkitRelativePath || file.name, waiting, ""]) {
    const cell = row.insertCell();
    [cell.textContent, cell.dir] = [text, "auto"];
  }
  row.className = "waiting";
  return row;
}

function show(row, kind, what, about) {
  row.className = kind;
  row.cells[1].textContent = what;
  row.cells[2].textContent = about;
}

/** Send one file; return the id of the document that it became, or undefined. */
async function send(file, row, stored) {
  if (file.size > Number(maxBytes)) {
    show(row, "refused", refused, tooLarge);
    return undefined;
  }
  show(row, "reading", reading, "");
  const body = new FormData(form);
  body.delete("uploads");
  body.append("uploads", file, file.name);
  body.set("stored", stored.join(","));
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, signal: stopped.signal });
    const told = await answer.json();
    const [found] = told.lines ?? [];
    if (found) show(row, found.outcome, found.title, found.about);
    else show(row, "refused", refused, told.problem ?? told.message ?? unreachable);
    return found?.document ?? undefined;
  } catch {
    show(row, "refused", refused, stopped.signal.aborted ? "" : unreachable);
    return undefined;
  }
}

form.addEventListener("submit", async (event) => {
  const files = chosen();
  if (!files.length) return; // the server says what is missing
  event.preventDefault();
  const button = form.querySelector("input[type=submit]");
  stopped = new AbortController();
  [button.disabled, stop.hidden, report.hidden, bar.hidden] = [true, false, false, false];
  rows.replaceChildren();
  const lines = files.map(line);
  const stored = [];
  bar.max = files.length;
  for (const [at, file] of files.entries()) {
    if (stopped.signal.aborted) break;
    const document = await send(file, lines[at], stored);
    if (document !== undefined) stored.push(document);
    bar.value = at + 1;
    count.textContent = progress.replace("%(done)s", at + 1).replace("%(all)s", files.length);
  }
  [button.disabled, stop.hidden] = [false, true];
});

stop.addEventListener("click", () => stopped?.abort());
