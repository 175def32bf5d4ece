/* Keeps the columns of a table that is being written as wide as they are: a cell that comes moves none of the others. */

const NARROWEST = 80; // pixels
const FIRST_ROWS = 2; // the head, and the row that shows what the columns hold

const kept = new WeakMap(); // tables, and how many of their first rows and columns were there when these were measured

function fix(table, widths) {
  const cells = [...table.rows[0].cells];
  cells.forEach((cell, index) => (cell.style.width = `${widths[index]}px`));
  table.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
  table.style.tableLayout = "fixed";
}

function widthsOf(table) {
  return [...table.rows[0].cells].map((cell) => Math.max(NARROWEST, cell.getBoundingClientRect().width));
}

/** Fix the columns of the tables in `open`: by their heads as far as these have come, and once more when the first row is complete. */
export function keepColumns(open) {
  for (const table of open.querySelectorAll("table")) {
    const rows = table.rows.length > FIRST_ROWS ? FIRST_ROWS : 1;
    const columns = table.rows[0]?.cells.length;
    const before = kept.get(table);
    if ((before?.rows === rows && before.columns === columns) || !table.offsetWidth) continue;
    kept.set(table, { rows, columns });
    for (const cell of table.rows[0].cells) cell.style.width = "";
    table.style.width = table.style.tableLayout = "";
    fix(table, widthsOf(table));
  }
}

/** Return the widths of the columns of the tables in `open`, to be given to `layColumns`; none of one that has shown no row yet. */
export const columnsOf = (open) => [...open.querySelectorAll("table")].map((table) => (kept.get(table)?.rows === FIRST_ROWS ? widthsOf(table) : null));

/** Give tables that take the place of drawn ones the same columns. */
export function layColumns(tables, columns) {
  tables.forEach((table, index) => {
    if (columns[index]?.length === table.rows[0]?.cells.length) fix(table, columns[index]);
  });
}
