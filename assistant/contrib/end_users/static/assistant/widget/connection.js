/* The widget's websocket: fetches a new token from the host page's backend for each connection, and reconnects. */

import { language } from "../js/i18n.js";

// All times are in milliseconds.
const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;
const REFUSED_DELAY = 60_000;
const UPGRADE_REQUIRED = 426;
// What the token URL's status says of the visitor. Many backends answer 403 to the signed-out, too.
const NO_TOKEN = { 401: "signed-out", 403: "forbidden", 404: "no-access" };
const PING_EVERY = 20_000;
const PONG_WITHIN = 10_000;
// The browser says that there is no network: only a server on the same machine still answers.
const PONG_WITHIN_OFFLINE = 1_000;
const STEADY_AFTER = 5_000;

/** Calls `listener`'s opened(grant), received(event) and changed(state). `grant` is the response of the token URL.
 * States: connecting, open, waiting, refused, and signed-out, forbidden and no-access, which last until the visitor comes
 * back to the page. */
export class WidgetConnection {
  state = "idle";
  models = []; // those to choose from for another answer
  audience = "visitor"; // or "member"
  details = []; // name and script of what optional apps add to answers
  added = () => ({}); // what optional apps add to the `forwardedProps` of a message, by its text
  #tokenUrl;
  #listener;
  #socket = null;
  #attempt = 0;
  #failures = 0;
  #timers = {};
  #events = new AbortController();

  constructor({ tokenUrl, server, listener }) {
    this.#tokenUrl = tokenUrl;
    this.server = server;
    this.#listener = listener;
    const { signal } = this.#events;
    addEventListener("online", () => this.retryNow(), { signal });
    addEventListener("offline", () => this.#probe(), { signal });
    addEventListener("pageshow", (event) => event.persisted && this.retryNow(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.retryNow() || this.#probe(), { signal });
  }

  get isOpen() {
    return this.state === "open";
  }

  async connect() {
    this.#stopTimers();
    const attempt = ++this.#attempt;
    this.#change("connecting");
    try {
      const grant = await this.#fetchToken();
      if (attempt !== this.#attempt) return;
      this.token = grant.token;
      this.models = grant.assistant.other_models ?? [];
      this.audience = grant.is_member ? "member" : "visitor";
      this.details = Object.entries(grant.details ?? {}).map(([name, script]) => ({ name, script: new URL(script, this.server).href }));
      const url = new URL(grant.socket, this.server.replace(/^http/, "ws"));
      url.searchParams.set("language", language);
      const socket = new WebSocket(url, ["agui.v1", `bearer.${grant.token}`]);
      this.#socket = socket;
      socket.onopen = () => this.#opened(socket, grant);
      socket.onmessage = (message) => this.#received(socket, message.data);
      socket.onclose = () => (this.isOpen ? this.#closed(socket) : this.#checkRefusal(socket, url));
    } catch (error) {
      if (attempt !== this.#attempt) return;
      if (error.state) this.#change(error.state);
      else this.#reconnectLater();
    }
  }

  async #fetchToken() {
    // A redirect to another origin's sign-in page would look like a lost network.
    const options = { cache: "no-store", headers: { Accept: "application/json" }, redirect: "manual" };
    const answer = await fetch(this.#tokenUrl, options);
    const state = answer.type === "opaqueredirect" ? "signed-out" : NO_TOKEN[answer.status];
    if (state) throw Object.assign(new Error(state), { state });
    if (!answer.ok) throw new Error(`${this.#tokenUrl} answered ${answer.status}`);
    return answer.json();
  }

  /** Send a frame. Returns false if there is no connection. */
  send(frame) {
    if (!this.isOpen || this.#socket.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Reconnect now. Returns false if connected or connecting already. */
  retryNow() {
    if (this.state === "open" || this.state === "connecting") return false;
    this.connect();
    return true;
  }

  close() {
    this.#attempt += 1;
    this.#events.abort();
    this.#stopTimers();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #opened(socket, grant) {
    if (socket !== this.#socket) return;
    this.#timers.steady = setTimeout(() => (this.#failures = 0), STEADY_AFTER);
    this.#timers.ping = setInterval(() => this.#probe(), PING_EVERY);
    this.#change("open");
    this.#listener.opened(grant);
  }

  #received(socket, data) {
    if (socket !== this.#socket) return;
    clearTimeout(this.#timers.pong);
    this.#timers.pong = 0;
    this.#listener.received(JSON.parse(data));
  }

  #probe() {
    const socket = this.#socket;
    if (!this.send({ type: "ping" }) || (this.#timers.pong && navigator.onLine)) return;
    clearTimeout(this.#timers.pong); // begun with the network, it would last too long without
    this.#timers.pong = setTimeout(() => {
      socket.close(); // its own close event may come a minute later
      this.#closed(socket);
    }, navigator.onLine ? PONG_WITHIN : PONG_WITHIN_OFFLINE);
  }

  #closed(socket) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#reconnectLater();
  }

  /** Find out why a handshake failed, which browsers do not say: a server that answers a plain request has refused it. */
  async #checkRefusal(socket, url) {
    const asked = new URL(url);
    asked.protocol = url.protocol.replace("ws", "http");
    const answer = await fetch(asked, { credentials: "omit" }).catch(() => null);
    if (socket !== this.#socket) return;
    this.#socket = null;
    if (answer?.status !== UPGRADE_REQUIRED) return this.#reconnectLater();
    console.warn(`The assistant refused ${location.origin}: is it one of its widget origins, and are its tokens good?`);
    this.#reconnectLater("refused", REFUSED_DELAY);
  }

  #reconnectLater(state = "waiting", longest = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** this.#failures)) {
    this.#stopTimers();
    this.#failures += 1;
    this.#timers.retry = setTimeout(() => this.connect(), (longest * (1 + Math.random())) / 2);
    this.#change(state);
  }

  #stopTimers() {
    for (const timer of Object.values(this.#timers)) clearTimeout(timer);
    this.#timers = {};
  }

  #change(state) {
    this.state = state;
    this.#listener.changed(state);
  }
}
