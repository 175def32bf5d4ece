/* Keeps the reader's place in a transcript, in the page and in the widget.
 *
 * A new question goes to the top, and its answer grows below it: nothing moves what is read. Whoever goes to the end, by hand or with
 * the button, follows it. The reader's intent ends that: a wheel, finger, key or scrollbar that goes up stops following at once,
 * whatever the distance; so does any other upward movement that is not ours (a search in the page, the focus, a selection). */

import { placeOf } from "./place.js";
import { make } from "./elements.js";
import { afterFlush } from "./shared.js";

const ABOVE_FORM = 16; // pixels
const ABOVE_MESSAGE = 16; // pixels
const LARGEST_QUESTION = 0.4; // of the height that is shown: of a longer one the end is shown
const WORTH_A_JUMP = 48; // pixels that are not shown: for less, the button would lie over what is pressed
const BEFORE_PRESS = 1_000; // milliseconds for which a pointer on the scrollbar holds the text
const UP = new Set(["ArrowUp", "PageUp", "Home"]);
const DOWN = new Set(["ArrowDown", "PageDown", "End"]);
const FIELDS = "input, textarea, select, [contenteditable]";

const beginnings = new WeakSet(); // forms whose beginning was shown, or passed by the reader

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
  #question;
  #room = make("div.room", { "aria-hidden": "true" });
  #makesRoom = false; // below a short answer, so that its question can be at the top
  #marks = []; // messages, and where they stay until the reader moves
  #isFollowing = true;
  #held = ""; // what holds the text: "pointer", "touch", or "bar" for a pointer that has come to the scrollbar
  #heldUntil = 0;
  #top = 0;
  #end = 0; // where it could be scrolled to when it was last looked at
  #wanted = Infinity; // the end that the reader is on the way to, which moves on meanwhile
  #touched = null;
  #events = new AbortController();

  /** `scroller` is scrolled, `jump` the button that leads to its end. While `isWelcome()`, it is read from its beginning.
   * `question()` returns the element of the last question. */
  constructor(scroller, jump, isWelcome, question) {
    this.#scroller = scroller;
    this.#jump = jump;
    this.#isWelcome = isWelcome;
    this.#question = question;
    scroller.append(this.#room);
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
    jump.addEventListener("pointerdown", (event) => event.preventDefault(), { signal }); // the focus stays where it is
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

  /** Show the last question at the top, and leave room below it for its answer. */
  toQuestion() {
    const question = this.#question();
    if (!question) return;
    this.#makesRoom = true;
    this.#stay([{ id: question.dataset.id }]); // its offset follows the height that is shown: the message box gets lower now
  }

  /** Show a message at the top. Returns whether it is there. */
  toMessage(id) {
    const isThere = Boolean(this.#messageOf(id));
    if (isThere) this.#stay([{ id, offset: ABOVE_MESSAGE }]);
    return isThere;
  }

  /** Follow the end from now on, if it is what is read. */
  goOn() {
    this.#look();
    if (this.#isAtEnd && !this.#room.offsetHeight) this.#turn(true);
  }

  /** Where the reader is, for `restore`; null at an end that is followed. */
  get place() {
    if (this.#isFollowing || this.#isWelcome() || !this.#scroller.clientHeight) return null;
    const marks = this.#marks.length ? this.#marks : placeOf(this.#scroller);
    return marks.length ? { marks, makesRoom: this.#makesRoom } : null;
  }

  /** Return to a place; to the end if none of its messages is there. */
  restore(place) {
    if (!place?.marks.some(({ id }) => this.#messageOf(id))) return;
    this.#makesRoom = place.makesRoom;
    this.#stay(place.marks);
  }

  /** Keep the reader's place while `change()` replaces messages. */
  keep(change) {
    const { place } = this;
    change();
    this.restore(place);
  }

  #stay(marks) {
    this.#turn(false);
    this.#marks = marks;
    this.#update();
  }

  #messageOf(id) {
    return this.#scroller.querySelector(`:is(.user, .answer)[data-id="${CSS.escape(id)}"]`);
  }

  /** Return how far below the top a question begins, in pixels. */
  #offsetOf(question) {
    return Math.min(ABOVE_MESSAGE, Math.round(this.#scroller.clientHeight * LARGEST_QUESTION) - question.offsetHeight);
  }

  #jumpToEnd() {
    const hadFocus = this.#jump.getRootNode().activeElement === this.#jump;
    const before = this.#scroller.scrollTop;
    this.toEnd();
    if (this.#scroller.scrollTop === before) this.#scroller.scrollTop = this.#scroller.scrollHeight; // from a form's beginning to its end
    if (!hadFocus) return;
    const last = [...this.#scroller.querySelectorAll(":is(.turn, .user)")].at(-1) ?? this.#scroller;
    last.tabIndex = -1;
    last.focus({ preventScroll: true }); // the button that had it goes
  }

  /** Scroll to the end if that is followed, or back to the reader's place, unless something holds the text. */
  #update() {
    if (!this.#held) this.#fitRoom();
    this.#look();
    if (this.#held || this.#isWelcome() || !this.#scroller.clientHeight) return;
    if (this.#isFollowing) scrollToEnd(this.#scroller);
    else this.#toMarks();
    this.#top = this.#scroller.scrollTop;
    this.#showJump();
  }

  /** Make room below a short answer, which its growth takes up. */
  #fitRoom() {
    const question = this.#makesRoom && this.#scroller.clientHeight ? this.#question() : null;
    let height = 0;
    if (question) {
      const below = parseFloat(getComputedStyle(this.#scroller).paddingBottom);
      const needed = this.#room.getBoundingClientRect().top - question.getBoundingClientRect().top + below;
      height = Math.max(0, Math.ceil(this.#scroller.clientHeight - this.#offsetOf(question) - needed));
    }
    this.#room.style.height = `${height}px`;
  }

  #toMarks() {
    const mark = this.#marks.find(({ id }) => this.#messageOf(id));
    if (!mark) return;
    const message = this.#messageOf(mark.id);
    const offset = message.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top;
    const distance = offset - (mark.offset ?? this.#offsetOf(message));
    if (Math.abs(distance) >= 1) this.#scroller.scrollTop += distance;
  }

  get #isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollTop >= scrollHeight - clientHeight - 1;
  }

  #showJump() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    const isAllShown = scrollTop + clientHeight >= scrollHeight - this.#room.offsetHeight - WORTH_A_JUMP; // the room below is empty
    const isOnTheWay = this.#isFollowing && !this.#scroller.querySelector(".approval"); // the end of a form is not gone to
    this.#jump.hidden = isAllShown || isOnTheWay;
  }

  /** See whether the reader has moved. */
  #look() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    if (!clientHeight) return; // hidden
    const end = scrollHeight - clientHeight;
    // A layout whose end is higher takes the position with it: only while the end has stayed is it the reader who went up.
    if (scrollTop < this.#top && end === this.#end && !this.#isAtEnd) this.#turn(false);
    if (scrollTop > this.#top && scrollTop >= Math.min(end, this.#wanted) - 1 && !this.#room.offsetHeight) this.#reachEnd();
    if (scrollTop !== this.#top && end === this.#end) this.#marks = [];
    if (this.#isWelcome()) this.#turn(true);
    this.#top = scrollTop;
    this.#end = end;
    this.#showJump();
  }

  #turn(isFollowing) {
    this.#isFollowing = isFollowing;
    this.#marks = [];
    this.#wanted = Infinity;
    this.#anchor();
  }

  /** The reader has gone to the end, past the beginning of a form. */
  #reachEnd() {
    this.#turn(true);
    const form = this.#scroller.querySelector(".approval");
    if (form) beginnings.add(form);
  }

  /** Let the browser keep in place what is read. An end that is followed, and what is held, are moved by nobody else. */
  #anchor() {
    this.#scroller.style.overflowAnchor = this.#isFollowing || this.#held ? "none" : "auto";
  }

  #goUp() {
    this.#marks = [];
    if (this.#scroller.scrollTop > 0) this.#turn(false);
    this.#look();
  }

  #goDown() {
    this.#look();
    this.#marks = [];
    this.#wanted = this.#end;
    if (this.#top >= this.#end - 1 && !this.#room.offsetHeight) this.#reachEnd();
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
    for (const one of this.#scroller.children) {
      if (one === this.#room) continue; // its height is its own: without it, what is under a finger would move before its click
      const { offsetHeight, style } = one;
      style.height = isFrozen ? `${offsetHeight}px` : "";
      style.overflow = isFrozen ? "clip" : "";
    }
  }

  /** Whatever is held (the scrollbar, text under a finger, text being selected) does not move away; then the end is followed. */
  #hold(held, isBar = held === "bar") {
    if (held === this.#held) return;
    this.#held = held;
    this.#wanted = Infinity;
    this.#anchor();
    if (isBar) this.#freeze(true);
    if (held) return;
    this.#freeze(false);
    this.#update();
  }
}
