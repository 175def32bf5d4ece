/* The page of a shared conversation: formulas, and times in the reader's time zone. */

import { drawFormulas } from "./formula.js";

drawFormulas(document.querySelector(".tenant-assistant"));
for (const time of document.querySelectorAll(".tenant-assistant time")) {
  time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
