/* Shows a passage that an answer names: beside the conversation where there is room, else over it. Loaded with the first one. */

import { byId } from "./dom.js";
import { passageShown } from "./sources.js";

const isWide = matchMedia("(width >= 1100px)");

/** Show a passage. `button`, which asked for it, keeps its place in the window, though the conversation gets narrower. */
export function showPassage(passage, button) {
  const panel = byId("passage");
  const scroller = byId("scroller");
  const keep = (act) => {
    const before = button.getBoundingClientRect().top;
    act();
    scroller.scrollTop += button.getBoundingClientRect().top - before;
  };
  byId("passage-body").replaceChildren(...passageShown(passage));
  panel.scrollTop = 0;
  if (panel.open) return;
  panel.classList.toggle("beside", isWide.matches);
  panel.setAttribute("closedby", isWide.matches ? "none" : "any");
  panel.onclose = () => button.isConnected && button.focus({ preventScroll: true });
  panel.onkeydown = (event) => {
    if (event.key !== "Escape" || !isWide.matches) return;
    event.preventDefault(); // it would stop the answer
    keep(() => panel.close());
  };
  if (isWide.matches) keep(() => panel.show());
  else panel.showModal();
}
