/* A menu made of <details>: Escape, a press outside and moving the focus out of it close it. */

export function makeMenu(details) {
  const close = () => (details.open = false);
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.preventDefault(); // closes the menu only, not the drawer around it, and stops no answer
    close();
    details.querySelector("summary").focus();
  });
  details.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !details.contains(relatedTarget) && close());
  // In the widget the target of an event is the whole widget, seen from here.
  addEventListener("pointerdown", (event) => event.composedPath().includes(details) || close());
}
