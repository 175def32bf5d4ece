/* Says what an answer waits for, and for how long, where a small model reads the question for many seconds. */

import { announce } from "./dom.js";
import { gettext } from "./i18n.js";

const AFTER = 4; // seconds, in which other models have begun to answer

export class Wait {
  #isSmall;
  #element = null;
  #begun = 0;
  #timer = 0;

  /** `isSmall`: whether the assistant's model is a small one. */
  constructor(isSmall) {
    this.#isSmall = isSmall;
  }

  /** Begin to count in a turn's element; goes on if it has begun there. */
  begin(element) {
    if (!this.#isSmall || this.#element === element) return;
    this.end();
    this.#element = element;
    this.#begun = Date.now();
    this.#timer = setInterval(() => this.#show(), 1000);
  }

  end() {
    clearInterval(this.#timer);
    if (this.#element) this.#element.textContent = "";
    this.#element = null;
  }

  #show() {
    const seconds = Math.round((Date.now() - this.#begun) / 1000);
    if (seconds < AFTER) return;
    const what = gettext("The small model is reading the question");
    if (!this.#element.textContent) announce(what);
    this.#element.textContent = `${what} · ${gettext("%(time)s s", { time: seconds })}`;
  }
}
