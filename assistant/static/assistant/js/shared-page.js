/* The page of a shared conversation: formulas, and times in the reader's time zone. */

import { drawFormulas } from "./formula.js";
import { dayAndTime } from "./i18n.js";

drawFormulas(document.querySelector(".tenant-assistant"));
for (const time of document.querySelectorAll(".tenant-assistant time")) {
  time.textContent = dayAndTime(new Date(time.dateTime));
}
