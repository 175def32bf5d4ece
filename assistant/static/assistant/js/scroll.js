/* Keeps a transcript scrolled to its end until the reader moves up, in the page and in the widget.
 *
 * The reader's intent decides: a wheel, finger, key or scrollbar that goes up stops following at once, whatever the distance; so
 * does any other upward movement that is not ours (a search in the page, the focus, a selection). Only the reader's own way to the
 * end, the button, or a new question follows again. */

import { afterFlush } from "./shared.js";

const ABOVE_FORM = 16; // pixels
const BEFORE_PRESS = 1_000; // milliseconds for which a pointer on the scrollbar holds the text
const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const DOWN = new Set(["ArrowDown", "PageDown", "End"]);
const FIELDS = "input, textarea, select, [contenteditable]";

const beginnings = new WeakSet(); // forms whose beginning was shown

/** Scroll a transcript to its end, or to the beginning of the first form in it if that is longer than what is shown.
 * It stays where it is while the focus is in the form: a field or a message that appears must not move what is filled in. */
function scrollToEnd(scroller) {
  const form = scroller.querySelector(".approval");
  let top = scroller.scrollHeight - scroller.clientHeight;
  if (form) {
    if (beginnings.has(form) && form.contains(form.getRootNode().activeElement)) return;
    const card = form.closest(".tool") ?? form;
    const beginning = scroller.scrollTop + card.getBoundingClientRect().top - scroller.getBoundingClientRect().top - ABOVE_FORM;
    top = Math.min(top, beginnings.has(form) ? Math.max(beginning, scroller.scrollTop) : beginning);
    beginnings.add(form);
  }
  scroller.scrollTop = top;
}

export class Follow {
  #scroller;
  #jump;
  #isWelcome;
  #isFollowing = true;
  #held = ""; // what holds the text: "pointer", "touch", or "bar" for a pointer that has come to the scrollbar
  #heldUntil = 0;
  #top = 0;
  #end = 0; // where it could be scrolled to when it was last looked at
  #wanted = Infinity; // the end that the reader is on the way to, which moves on meanwhile
  #touched = null;
  #events = new AbortController();

  /** `scroller` is scrolled, `jump` the button that leads to its end. While `isWelcome()`, it is read from its beginning. */
  constructor(scroller, jump, isWelcome) {
    this.#scroller = scroller;
    this.#jump = jump;
    this.#isWelcome = isWelcome;
    const { signal } = this.#events;
    const listen = (target, kinds, act) => {
      for (const kind of kinds.split(" ")) target.addEventListener(kind, act, { passive: true, signal });
    };
    listen(scroller, "scroll", () => this.#look());
    listen(scroller, "wheel", (event) => this.#wheeled(event));
    listen(scroller, "keydown", (event) => this.#pressed(event));
    listen(scroller, "touchstart touchmove touchend touchcancel", (event) => this.#touch(event));
    listen(scroller, "pointermove", (event) => this.#hover(event));
    listen(scroller, "pointerdown", (event) => this.#press(event));
    listen(window, "pointerup pointercancel blur", () => this.#held === "pointer" && this.#hold(""));
    listen(window, "pointermove", ({ buttons }) => this.#held === "pointer" && !buttons && this.#hold("")); // the release was not told
    listen(jump, "click", () => this.#jumpToEnd());
    const resized = new ResizeObserver(() => this.#update());
    for (const element of [scroller, ...scroller.children]) resized.observe(element);
    const endUpdates = afterFlush(() => this.#update());
    signal.addEventListener("abort", () => {
      resized.disconnect();
      endUpdates();
    });
  }

  /** Scroll no more. */
  close() {
    this.#events.abort();
  }

  /** Scroll to the end and follow it. */
  toEnd() {
    this.#turn(true);
    this.#update();
  }

  #jumpToEnd() {
    const hadFocus = this.#jump.getRootNode().activeElement === this.#jump;
    this.toEnd();
    if (hadFocus) this.#scroller.focus({ preventScroll: true }); // the button that had it goes
  }

  /** Scroll to the end, if that is followed and nothing holds the text. */
  #update() {
    this.#look();
    if (!this.#isFollowing || this.#held || this.#isWelcome() || !this.#scroller.clientHeight) return;
    scrollToEnd(this.#scroller);
    this.#top = this.#scroller.scrollTop;
  }

  /** See whether the reader has moved. */
  #look() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    if (!clientHeight) return; // hidden
    const end = scrollHeight - clientHeight;
    const isAtEnd = scrollTop >= end - 1;
    // A layout whose end is higher takes the position with it: only while the end has stayed is it the reader who went up.
    if (scrollTop < this.#top && end === this.#end && !isAtEnd) this.#turn(false);
    if (scrollTop > this.#top && scrollTop >= Math.min(end, this.#wanted) - 1) this.#turn(true);
    if (this.#isWelcome()) this.#turn(true);
    this.#top = scrollTop;
    this.#end = end;
    this.#jump.hidden = this.#isFollowing || isAtEnd;
  }

  #turn(isFollowing) {
    this.#isFollowing = isFollowing;
    this.#wanted = Infinity;
  }

  #goUp() {
    if (this.#scroller.scrollTop > 0) this.#turn(false);
    this.#look();
  }

  #goDown() {
    this.#look();
    this.#wanted = this.#end;
    if (this.#top >= this.#end - 1) this.#turn(true);
  }

  #wheeled({ deltaX, deltaY, ctrlKey, shiftKey, target }) {
    if (ctrlKey || shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) return; // zooms, or goes sideways
    if (deltaY < 0 && !this.#isScrolledWithin(target)) this.#goUp();
    else if (deltaY > 0) this.#goDown();
  }

  #touch({ touches, target }) {
    const before = this.#touched;
    this.#touched = touches.length === 1 ? { x: touches[0].clientX, y: touches[0].clientY } : null;
    this.#hold(touches.length ? "touch" : "");
    if (!before || !this.#touched) return;
    const [down, aside] = [this.#touched.y - before.y, Math.abs(this.#touched.x - before.x)];
    if (Math.abs(down) <= aside) return;
    if (down > 0 && !this.#isScrolledWithin(target)) this.#goUp(); // the finger pulls the text down
    else if (down < 0) this.#goDown();
  }

  /** Hold the text for a moment where the scrollbar is about to be pressed: Chromium loses a press while its thumb shrinks. */
  #hover({ pointerType, buttons, target, offsetX }) {
    if (pointerType !== "mouse" || buttons || !["", "bar"].includes(this.#held)) return;
    clearTimeout(this.#heldUntil);
    const isOnBar = target === this.#scroller && (offsetX < 0 || offsetX >= target.clientWidth);
    this.#hold(isOnBar ? "bar" : "");
    if (isOnBar) this.#heldUntil = setTimeout(() => this.#held === "bar" && this.#hold(""), BEFORE_PRESS);
  }

  #press({ pointerType, button, target }) {
    if (pointerType === "touch" || button !== 0) return;
    this.#hold("pointer", target === this.#scroller);
  }

  #pressed({ key, shiftKey, target }) {
    if (target.closest(FIELDS)) return;
    const isSpace = key === " " && !target.closest("button, summary");
    if (UP.has(key) || (isSpace && shiftKey)) this.#goUp();
    else if (DOWN.has(key) || isSpace) this.#goDown();
  }

  /** Return whether an element between `target` and the transcript can be scrolled up itself. */
  #isScrolledWithin(target) {
    for (let one = target; one && one !== this.#scroller; one = one.parentElement) if (one.scrollTop > 0) return true;
    return false;
  }

  /** Keep what is scrolled as high as it is: Chromium loses a scrollbar that is being dragged when its thumb shrinks. */
  #freeze(isFrozen) {
    for (const { offsetHeight, style } of this.#scroller.children) {
      style.height = isFrozen ? `${offsetHeight}px` : "";
      style.overflow = isFrozen ? "clip" : "";
    }
  }

  /** Whatever is held (the scrollbar, text under a finger, text being selected) does not move away; then the end is followed. */
  #hold(held, isBar = held === "bar") {
    if (held === this.#held) return;
    this.#held = held;
    this.#wanted = Infinity;
    if (isBar) this.#freeze(true);
    if (held) return;
    this.#freeze(false);
    this.#update();
  }
}
