/* A websocket that reconnects with exponential backoff and jitter, and detects a lost connection with pings. */

import { language } from "./i18n.js";

// All times are in milliseconds.
const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;
const PING_EVERY = 20_000;
const PONG_WITHIN = 10_000;
// The browser says that there is no network: only a server on the same machine still answers.
const PONG_WITHIN_OFFLINE = 1_000;
const STEADY_AFTER = 5_000;
const SIGNED_OUT = 4401;
const TOO_MANY = 4429;

/** Fires "open", "frame" (detail: the event) and "change" (detail: {state, delay, reason}). `reason` is the server's, if it
 * closed the connection because of a limit. States: connecting, open, waiting, signed-out. */
export class Connection extends EventTarget {
  #url;
  #socket = null;
  #failures = 0;
  #timers = {};

  /** Reacts to the network and to the page until `signal` aborts. */
  constructor(path, signal) {
    super();
    this.#url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}?language=${language}`;
    this.state = "connecting";
    addEventListener("online", () => this.retryNow(), { signal });
    addEventListener("offline", () => this.#probe(), { signal });
    addEventListener("pageshow", (event) => event.persisted && this.retryNow(), { signal });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      if (this.state === "waiting") this.retryNow();
      else this.#probe();
    }, { signal });
  }

  get isOpen() {
    return this.state === "open";
  }

  connect() {
    this.#stopTimers();
    this.#change("connecting");
    const socket = new WebSocket(this.#url, ["agui.v1"]);
    this.#socket = socket;
    socket.onopen = () => this.#opened(socket);
    socket.onmessage = (message) => this.#received(socket, message.data);
    socket.onclose = (event) => this.#closed(socket, event.code, event.reason);
  }

  /** Send a frame. Returns false if there is no connection. */
  send(frame) {
    if (!this.isOpen || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
    return true;
  }

  /** Close for good. */
  close() {
    const socket = this.#socket;
    this.#socket = null;
    this.#stopTimers();
    this.state = "closed";
    socket?.close();
  }

  retryNow() {
    if (this.state === "waiting") this.connect();
  }

  #opened(socket) {
    if (socket !== this.#socket) return;
    this.#timers.steady = setTimeout(() => (this.#failures = 0), STEADY_AFTER);
    this.#timers.ping = setInterval(() => this.#probe(), PING_EVERY);
    this.#change("open");
    this.dispatchEvent(new Event("open"));
  }

  #received(socket, data) {
    if (socket !== this.#socket) return;
    clearTimeout(this.#timers.pong);
    this.#timers.pong = 0;
    this.dispatchEvent(new CustomEvent("frame", { detail: JSON.parse(data) }));
  }

  #probe() {
    const socket = this.#socket;
    if (!this.send({ type: "ping" }) || (this.#timers.pong && navigator.onLine)) return;
    clearTimeout(this.#timers.pong); // begun with the network, it would last too long without
    this.#timers.pong = setTimeout(() => {
      if (socket !== this.#socket) return;
      socket.close(); // its own close event may come a minute later
      this.#closed(socket, 1006);
    }, navigator.onLine ? PONG_WITHIN : PONG_WITHIN_OFFLINE);
  }

  async #closed(socket, code, reason = "") {
    if (socket !== this.#socket) return;
    const wasOpen = this.isOpen;
    this.#socket = null;
    this.#stopTimers();
    this.#failures += 1;
    if (code === SIGNED_OUT || (!wasOpen && this.#failures % 3 === 0 && (await isSignedOut()))) {
      this.#change("signed-out");
      return;
    }
    const ceiling = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** (this.#failures - 1));
    const delay = ceiling / 2 + (Math.random() * ceiling) / 2;
    this.#timers.retry = setTimeout(() => this.connect(), delay);
    this.#change("waiting", delay, code === TOO_MANY ? reason : "");
  }

  #stopTimers() {
    for (const timer of Object.values(this.#timers)) clearTimeout(timer);
    this.#timers = {};
  }

  #change(state, delay = 0, reason = "") {
    this.state = state;
    this.dispatchEvent(new CustomEvent("change", { detail: { state, delay, reason } }));
  }
}

async function isSignedOut() {
  try {
    const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" });
    return answer.type === "opaqueredirect" || answer.status === 404;
  } catch {
    return false; // the server cannot be reached
  }
}
