/* Keeps the transcript scrolled to its end while the reader is at the end. A welcome is read from its beginning. */

import { afterFlush, byId } from "./dom.js";
import { scrollToEnd } from "./shared.js";

const NEAR = 80; // pixels from the end

export class Follow {
  #scroller;
  #jump;
  #isAtEnd = true;
  #top = 0;

  constructor(scroller, jump) {
    this.#scroller = scroller;
    this.#jump = jump;
    scroller.addEventListener("scroll", () => this.#onScroll(), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#isAtEnd && this.#scrollToEnd()).observe(scroller.firstElementChild);
    new ResizeObserver(() => this.#isAtEnd && this.#scrollToEnd()).observe(scroller);
    this.close = afterFlush(() => this.#isAtEnd && this.#scrollToEnd());
  }

  toEnd() {
    this.#isAtEnd = true;
    this.#jump.hidden = true;
    this.#scrollToEnd();
  }

  #scrollToEnd() {
    if (byId("welcome")) return;
    scrollToEnd(this.#scroller);
    this.#top = this.#scroller.scrollTop; // the reader has not scrolled up, even if a form's beginning is above
  }

  #onScroll() {
    if (byId("welcome")) return;
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR;
    // Text added between our scrolling and its event also increases the distance: only scrolling up leaves the end.
    if (isNear) this.#isAtEnd = true;
    else if (scrollTop < this.#top) this.#isAtEnd = false;
    this.#top = scrollTop;
    this.#jump.hidden = this.#isAtEnd;
  }
}
