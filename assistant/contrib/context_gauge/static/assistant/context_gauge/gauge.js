/* Decides whether the gauge of the context is shown; what draws it is fetched once half of the context is used. */

const SHOWN_FROM = 0.5;

/** Show the value of the newest answer. The widget has no room for it. */
export async function show({ turn, details }) {
  const newest = [...document.querySelectorAll("#transcript .turn.assistant")].at(-1);
  if (turn !== newest) return; // of the widget, or an older value
  const { used, limit, older } = details.at(-1).value;
  const share = older === "left_out" ? 1 : Math.min(1, used / limit);
  const isShown = share >= SHOWN_FROM;
  if (!isShown && !document.querySelector(".context-gauge")) return;
  const { draw } = await import("./ring.js");
  draw({ share, older, isShown });
}
