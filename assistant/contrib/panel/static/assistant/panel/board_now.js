// Shows in the cells of a board what happens now: calls of the last hour, failed ones, and who waits. Asked for again
// while the page is before somebody's eyes.
const EVERY = 10_000; // milliseconds
const STATES = ["now-calls", "now-failed", "now-waits"];

/** Return the cells of the page by `tenant:assistant:tool`. */
function cellsOf(form) {
  const own = [...form.querySelectorAll("td[data-target]")].map((cell) => [cell.dataset.target, cell]);
  if (own.length) return new Map(own);
  const tools = [...form.querySelectorAll("thead th[data-tool]")].map((head) => head.dataset.tool);
  const rows = [...form.querySelectorAll("tbody tr[data-tenant]")];
  return new Map(rows.flatMap((row) => tools.map((tool, x) => [`${row.dataset.tenant}::${tool}`, row.cells[x + 1]])));
}

function show(cell, now) {
  cell.classList.remove(...STATES);
  if (now) cell.classList.add(`now-${now.state}`);
  const line = cell.querySelector(".now");
  if (line) {
    line.textContent = now?.text ?? "";
    line.hidden = !now;
  } else if (now) {
    cell.dataset.now = now.text;
    cell.title = now.text;
  } else {
    delete cell.dataset.now;
    cell.removeAttribute("title");
  }
}

async function look() {
  const form = document.querySelector("#board[data-now]"); // a switch replaces it
  if (!form || document.hidden) return;
  const address = new URL(form.dataset.now, location.href);
  const tenants = form.dataset.tenant ?? [...form.querySelectorAll("tbody tr[data-tenant]")].map((row) => row.dataset.tenant).join(",");
  address.searchParams.set("tenants", tenants);
  const answer = await fetch(address, { redirect: "error" }).catch(() => null); // offline: asked again
  if (!answer?.ok || !form.isConnected) return;
  const { cells } = await answer.json();
  for (const [target, cell] of cellsOf(form)) show(cell, cells[target]);
}

look();
setInterval(look, EVERY);
document.addEventListener("visibilitychange", look);
// A switch was set, and the board is another one.
new MutationObserver(look).observe(document.querySelector("#content-main"), { childList: true });
