/* Notifications of the browser, for a window in the background. */

import { make } from "./elements.js";
import { gettext } from "./i18n.js";

/** Whether people can be asked for the permission to notify. */
export const canAsk = () => globalThis.Notification?.permission === "default";

/** Return a button that asks for the permission to notify, and goes once it was answered. */
export function askButton() {
  const ask = make("button.link-button.notify-ask", { type: "button" }, gettext("Notify me when this window is in the background"));
  ask.onclick = async () => {
    await Notification.requestPermission();
    ask.remove();
  };
  return ask;
}

/** Show a notification of the browser; return whether it allows them. Windows of one site show one for a tag together. */
export function notify(title, body, tag, open = () => {}) {
  if (globalThis.Notification?.permission !== "granted") return false;
  try {
    const shown = new Notification(title, { body, tag });
    shown.onclick = () => {
      window.focus();
      open();
      shown.close();
    };
    return true;
  } catch {
    return false; // browsers of phones show them for service workers alone
  }
}
