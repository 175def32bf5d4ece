/* The footers under the answers of a conversation, and the questions that could come next: the page's and the widget's. */

import { make } from "./elements.js";
import { Footer } from "./footer.js";
import { gettext } from "./i18n.js";
import { touch } from "./shared.js";

export class Footers {
  #actions;
  #byTurn = new WeakMap();
  #known = new Map(); // what the server knows of answers, by their ids
  #modules = new Map(); // scripts of optional apps that have shown something, by their names
  #last = null;
  #followUps = null;

  /** `actions`: turnOf(messageId), the element of an answer's turn; textsOf(turn), id and Markdown of its answers; models(), those to choose from for
   * another answer; again(model); rate(messageId, rating, comment); announce(text); cite(turn); suggest(text), which puts a question into the box. */
  constructor(actions) {
    this.#actions = actions;
  }

  /** Return the footer of a turn, which is added if it has none. */
  of(turn) {
    if (!this.#byTurn.has(turn)) {
      const { textsOf, models, again, rate, announce } = this.#actions;
      const text = () => textsOf(turn).map(([id, markdown]) => this.#shown(id, markdown).trim()).join("\n\n");
      const footer = new Footer({ text, models, again, rate, announce });
      this.#byTurn.set(turn, footer);
      turn.append(footer.element);
    }
    return this.#byTurn.get(turn);
  }

  /** Let the answer of a turn be asked for again, and no other; of none for null, as when a run begins. */
  mark(turn) {
    if (this.#last) this.#last.isLast = false;
    this.#last = turn && this.of(turn);
    if (this.#last) this.#last.isLast = true;
    this.#clearFollowUps();
  }

  /** Show what the server knows of answers: times, models, ratings; and the sources of those that searched documents. */
  details(messages) {
    for (const detail of messages) {
      this.#known.set(detail.messageId, detail);
      const turn = this.#actions.turnOf(detail.messageId);
      if (!turn) continue;
      this.#byTurn.get(turn)?.add(detail);
      touch({ flush: () => this.#actions.cite(turn) }); // after the answer's last blocks
    }
  }

  /** Put a footer under a turn, with what is known of its answers. */
  restore(turn, messageIds) {
    const footer = this.of(turn);
    for (const detail of this.#about(messageIds)) footer.add(detail);
  }

  #about(messageIds) {
    return messageIds.filter((id) => this.#known.has(id)).map((id) => this.#known.get(id));
  }

  /** The passages that answers name. */
  passages(messageIds) {
    return this.#about(messageIds).flatMap(({ sources }) => sources ?? []);
  }

  /** What an optional app adds to answers: the ids of the messages and the values. */
  added(messageIds, name) {
    const found = this.#about(messageIds).filter(({ added }) => added?.[name]);
    return found.map(({ messageId, added }) => ({ messageId, value: added[name] }));
  }

  /** Let the scripts of optional apps show what they add to a turn's answers. `scripts` has name and script of each. */
  async show(turn, messageIds, scripts, found) {
    for (const { name, script } of scripts) {
      const details = this.added(messageIds, name);
      if (!details.length) continue;
      const module = await import(script);
      this.#modules.set(name, module);
      module.show({ turn, details, announce: this.#actions.announce, ...found });
    }
  }

  /** Return the Markdown of an answer without what the scripts of optional apps do not show of it. */
  #shown(id, markdown) {
    const added = this.#known.get(id)?.added ?? {};
    return [...this.#modules].reduce((text, [name, { shownText }]) => (shownText && added[name] ? shownText(text, added[name]) : text), markdown);
  }

  /** Show what became of a rating. */
  rated(value) {
    const known = this.#known.get(value.messageId);
    if (known) this.#known.set(value.messageId, { ...known, feedback: { rating: value.rating } });
    const turn = this.#actions.turnOf(value.messageId);
    if (turn) this.#byTurn.get(turn)?.rated(value);
  }

  /** Show questions that could come after the last answer. A model wrote them, so a click writes them and sends nothing. */
  followUps(questions) {
    this.#clearFollowUps();
    if (!this.#last) return;
    const chips = questions.map((text) => make("button.chip", { type: "button", dir: "auto", onclick: () => this.#actions.suggest(text) }, text));
    this.#followUps = make("div.follow-ups", { role: "group", "aria-label": gettext("Suggested questions") }, ...chips);
    this.#last.element.after(this.#followUps);
  }

  #clearFollowUps() {
    this.#followUps?.remove();
    this.#followUps = null;
  }
}
