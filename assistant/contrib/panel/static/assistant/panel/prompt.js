// The editor of prompts: variables at the cursor, Enter for the button beside a field, a warning before text is lost.
"use strict";
const form = document.getElementById("prompt-form");
const text = form.elements.namedItem("text");
let isSent = false;

form.addEventListener("click", (event) => {
  const name = event.target.closest("[data-insert]")?.dataset.insert;
  if (!name) return;
  text.setRangeText(`{{ ${name} }}`, text.selectionStart, text.selectionEnd, "end");
  text.focus();
});

form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches("[data-enter]")) return;
  event.preventDefault();
  form.requestSubmit(event.target.parentElement.querySelector("button"));
});

form.addEventListener("submit", () => { isSent = true; });
window.addEventListener("beforeunload", (event) => {
  if (!isSent && ("unsaved" in form.dataset || text.value !== text.defaultValue)) event.preventDefault();
});

// As the server estimates it: a quarter of the bytes.
const tokens = form.querySelector("[data-length]");
text.addEventListener("input", () => {
  const bytes = new TextEncoder().encode(text.value).length;
  tokens.textContent = bytes ? Math.floor(bytes / 4) + 1 : 0;
});

document.getElementById("publication")?.scrollIntoView({ block: "nearest" });
document.getElementById("publication")?.focus();
document.getElementById("preview")?.focus();
