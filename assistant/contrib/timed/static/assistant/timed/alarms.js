/* The alarms that ring: cards with what can be done, and notifications of the browser for a window in the background. */

import { icon, make } from "../js/elements.js";
import { dayOrTime, gettext } from "../js/i18n.js";
import { askButton, canAsk, notify } from "../js/notify.js";

// Minutes after which an alarm can ring again.
const SNOOZES = { 10: gettext("In 10 minutes"), 60: gettext("In an hour") };

export default class Alarms {
  #list = make("div.alarm-list");
  element = make("section.alarms", { hidden: true, "aria-label": gettext("Alarms") }, this.#list);
  #cards = new Map(); // by the alarm's number and ring
  #unseen = new Set();
  #send;
  #announce;
  #isShown;
  #focus;

  /** `send(frame)` sends a frame. `focus()` takes the focus when the button that had it goes. `asks`: whether a button may
   * ask for the permission to notify. `isShown()` returns whether a card is before somebody's eyes. */
  constructor({ send, announce, focus, asks = false, isShown = () => !document.hidden }, signal) {
    this.#send = send;
    this.#announce = announce;
    this.#focus = focus;
    this.#isShown = isShown;
    if (asks && canAsk()) this.element.append(askButton());
    document.addEventListener("visibilitychange", () => this.look(), { signal });
  }

  /** The number of alarms that ring. */
  get count() {
    return this.#cards.size;
  }

  /** Show the alarms that ring, and no others. */
  show({ ringing }) {
    const keys = new Set(ringing.map(keyOf));
    const hadFocus = this.element.matches(":focus-within");
    for (const [key, card] of this.#cards) {
      if (keys.has(key)) continue;
      card.remove();
      this.#cards.delete(key);
      this.#unseen.delete(key);
    }
    for (const alarm of ringing) if (!this.#cards.has(keyOf(alarm))) this.#add(alarm);
    this.element.hidden = !this.#cards.size;
    if (hadFocus && !this.element.matches(":focus-within")) this.#focus();
    this.look();
  }

  #add(alarm) {
    const { number, label, at, isLate } = alarm;
    const time = dayOrTime(new Date(at));
    const said = label || gettext("Alarm");
    const when = isLate ? gettext("%(time)s, late", { time }) : time;
    const act = (text, frame, kind = "") => make(`button.button${kind}`, { type: "button", onclick: () => this.#send({ type: "alarm", number, ...frame }) }, text);
    const buttons = Object.entries(SNOOZES).map(([minutes, text]) => act(text, { action: "snooze", minutes: Number(minutes) }));
    const card = make(
      "article.alarm",
      {},
      icon("bell"),
      make("p.alarm-text", {}, make("strong", { dir: "auto" }, said), make("span.alarm-time", {}, when)),
      make("div.row", {}, act(gettext("Done"), { action: "done" }, ".primary"), ...buttons),
    );
    this.#cards.set(keyOf(alarm), card);
    this.#unseen.add(keyOf(alarm));
    this.#list.append(card);
    this.#announce(gettext("Alarm: %(label)s, %(time)s", { label: said, time: when }));
    if (!this.#isShown() && notify(said, when, `alarm-${keyOf(alarm)}`)) this.#seen(keyOf(alarm));
  }

  /** Tell the server of the alarms that are before somebody's eyes: it then tells them nowhere else. */
  look() {
    if (this.#isShown()) for (const key of this.#unseen) this.#seen(key);
  }

  #seen(key) {
    if (this.#send({ type: "alarm", number: Number(key.split(":")[0]), action: "seen" })) this.#unseen.delete(key);
  }

}

const keyOf = ({ number, rings }) => `${number}:${rings}`;
