// Removes approvals that were answered elsewhere from the open list, and asks the server for it while the page is seen.
const SECONDS_BETWEEN = 5;

const rowsIn = (page) => [...page.querySelectorAll("#result_list tbody tr")];
const idOf = (row) => row.querySelector("input.action-select")?.value;

async function removeAnswered() {
  if (document.hidden) return;
  const response = await fetch(location.href, { headers: { "X-Requested-With": "fetch" } });
  if (!response.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const waiting = new Set(rowsIn(page).map(idOf));
  // Not replaced by the fresh list: that would take away the boxes that are ticked.
  for (const row of rowsIn(document)) {
    if (idOf(row) && !waiting.has(idOf(row))) row.remove();
  }
}

if (rowsIn(document).length) setInterval(() => removeAnswered().catch(() => {}), SECONDS_BETWEEN * 1000);
