/* Loads the page of an evaluation again while it is under way, but never under somebody's hands. */

const EVERY = 4000; // milliseconds

function reload() {
  const isWriting = document.activeElement?.closest("#content-main input, #content-main textarea, #content-main details");
  if (isWriting || document.querySelector(".evaluation-calls details[open]")) setTimeout(reload, EVERY);
  else location.reload();
}

if (document.querySelector("[data-under-way]")) setTimeout(reload, EVERY);
