/* What stands under an answer: copy, ask again, the member's rating with a comment, why it is so, time, model, tokens and cost. */

import { icon, make } from "./elements.js";
import { dayOrTime, gettext, locale, ngettext } from "./i18n.js";
import { makeMenu } from "./menu.js";
import { copyText, newId } from "./shared.js";

const COPIED_FOR = 1600; // milliseconds

function sumOf(details, name) {
  const byRun = new Map(details.map(({ runId, usage }) => [runId, usage?.[name] ?? 0]));
  return [...byRun.values()].reduce((sum, one) => sum + one, 0);
}

/** Scroll to what has been opened: after the frame in which the transcript returns to the reader's place, since it has grown. */
function reveal(element) {
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollIntoView({ block: "nearest" })));
}

export class Footer {
  #actions;
  #details = new Map();
  #rating = 0;
  #copy;
  #again;
  #others = make("details.menu.models");
  #up;
  #down;
  #ask;
  #why = make("p.why", { id: newId(), hidden: true, dir: "auto" });
  #about = make("span.about");
  #form = null;

  /** `actions`: text(), the answer as Markdown; again(model), by another of models() if it is given; rate(messageId, rating, comment); announce(text). */
  constructor(actions) {
    this.#actions = actions;
    this.#copy = this.#button("copy", gettext("Copy the answer"), () => this.#copyAnswer());
    this.#again = this.#button("again", gettext("Ask again"), () => actions.again());
    this.#up = this.#button("up", gettext("Good answer"), () => this.#rate(1));
    this.#down = this.#button("down", gettext("Bad answer"), () => this.#rate(-1));
    this.#ask = this.#button("ask", gettext("Why this answer?"), () => this.#explain(this.#why.hidden));
    this.#ask.setAttribute("aria-controls", this.#why.id);
    this.#explain(false);
    this.#again.hidden = this.#others.hidden = this.#up.hidden = this.#down.hidden = this.#ask.hidden = true;
    this.element = make("div.footer", {}, make("div.actions", {}, this.#copy, this.#again, this.#others, this.#up, this.#down, this.#ask, this.#about), this.#why);
  }

  #button(name, title, act) {
    return make("button.icon-button", { type: "button", title, "aria-label": title, onclick: act }, icon(name));
  }

  /** Put the switch between versions of the answer before all else. */
  set versions(element) {
    this.element.firstChild.querySelector(".versions")?.remove();
    if (element) this.element.firstChild.prepend(element);
  }

  /** The last answer can be asked for again. */
  set isLast(value) {
    this.#again.hidden = !value;
    const models = value ? this.#actions.models() : [];
    this.#others.hidden = !models.length;
    if (models.length && !this.#others.firstChild) this.#fill(models);
  }

  #fill(models) {
    const label = gettext("Try again with another model");
    const choose = (model) => {
      this.#others.open = false;
      this.#actions.again(model);
    };
    const [before, after] = gettext("Try again with %(model)s").split("%(model)s");
    const buttons = models.map((model) => make("li", {}, make("button", { type: "button", onclick: () => choose(model) }, before, make("bdi", { dir: "ltr" }, model), after)));
    this.#others.append(make("summary.icon-button", { title: label, "aria-label": label }, icon("chevron")), make("ul", {}, ...buttons));
    makeMenu(this.#others);
  }

  /** Show the sentence on what the answer was made from, or hide it. */
  #explain(isShown) {
    this.#why.hidden = !isShown;
    this.#ask.setAttribute("aria-expanded", String(isShown));
    if (!isShown) return;
    this.#actions.announce(this.#why.textContent);
    reveal(this.#why);
  }

  /** Show what the server knows of one of the turn's answers. */
  add(detail) {
    this.#details.set(detail.messageId, detail);
    const all = [...this.#details.values()];
    const { createdAt, model, isFallback, feedback } = all.at(-1);
    const cost = sumOf(all, "cost");
    const tokens = sumOf(all, "inputTokens") + sumOf(all, "outputTokens");
    const moment = new Date(createdAt);
    const time = make("time", { dateTime: createdAt, title: moment.toLocaleString(locale) }, make("bdi", {}, dayOrTime(moment)));
    const parts = [model, tokens && ngettext("%(count)s token", "%(count)s tokens", tokens), cost && gettext("cost %(cost)s", { cost: cost.toLocaleString(locale, { maximumSignificantDigits: 2 }) })];
    this.#about.replaceChildren(time, ...parts.filter(Boolean).map((part) => make("span", {}, make("bdi", {}, part))));
    if (isFallback) this.#about.append(make("span.fallback", { title: gettext("The first model could not answer.") }, gettext("Answered by the fallback model")));
    this.#show(feedback?.rating ?? 0);
    this.#up.hidden = this.#down.hidden = false;
    this.#why.textContent = all.map(({ why }) => why).filter(Boolean).join(" ");
    this.#ask.hidden = !this.#why.textContent;
  }

  get #messageId() {
    return [...this.#details.keys()].at(-1);
  }

  /** Show what became of a rating. */
  rated({ rating, error }) {
    this.#show(rating);
    if (error) this.#closeForm();
    this.#actions.announce(error ?? (rating ? gettext("Thank you for your rating") : gettext("Rating taken back")));
  }

  #show(rating) {
    this.#rating = rating;
    this.#up.setAttribute("aria-pressed", String(rating === 1));
    this.#down.setAttribute("aria-pressed", String(rating === -1));
  }

  async #copyAnswer() {
    await copyText(this.#actions.text());
    this.#actions.announce(gettext("Copied"));
    this.#copy.classList.add("done");
    this.#copy.replaceChildren(icon("check"));
    setTimeout(() => {
      this.#copy.classList.remove("done");
      this.#copy.replaceChildren(icon("copy"));
    }, COPIED_FOR);
  }

  #rate(rating) {
    const wanted = this.#rating === rating ? 0 : rating;
    if (!this.#actions.rate(this.#messageId, wanted, "")) return;
    this.#show(wanted);
    this.#closeForm();
    if (wanted) this.#openForm(wanted);
  }

  async #openForm(rating) {
    const { commentForm } = await import("./comment_form.js");
    if (this.#rating !== rating || this.#form) return; // taken back meanwhile, or refused
    const close = () => {
      this.#closeForm();
      (rating > 0 ? this.#up : this.#down).focus();
    };
    this.#form = commentForm(rating, (comment) => this.#actions.rate(this.#messageId, rating, comment), close);
    this.element.append(this.#form);
    this.#form.querySelector("textarea").focus();
    reveal(this.#form);
  }

  #closeForm() {
    this.#form?.remove();
    this.#form = null;
  }
}
