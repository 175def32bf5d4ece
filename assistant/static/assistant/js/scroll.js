/* Follows the end of the transcript, but only while the reader is there. */

import { afterFlush } from "./dom.js";

const NEAR = 80;

export class Follow {
  #scroller;
  #jump;
  #isAtEnd = true;
  #top = 0;

  constructor(scroller, jump) {
    this.#scroller = scroller;
    this.#jump = jump;
    scroller.addEventListener("scroll", () => this.#look(), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#isAtEnd && this.#move()).observe(scroller.firstElementChild);
    new ResizeObserver(() => this.#isAtEnd && this.#move()).observe(scroller);
    afterFlush(() => this.#isAtEnd && this.#move());
  }

  toEnd() {
    this.#isAtEnd = true;
    this.#jump.hidden = true;
    this.#move();
  }

  #move() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #look() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR;
    // Text that grows between a move and its event must not look as if the reader had gone up.
    if (isNear) this.#isAtEnd = true;
    else if (scrollTop < this.#top) this.#isAtEnd = false;
    this.#top = scrollTop;
    this.#jump.hidden = this.#isAtEnd;
  }
}
