/* Loads what optional apps add to the message box, of the page and of the widget, once it is of use. */

export class ComposerParts {
  #loaded = [];

  /** `parts`: as services/composer_parts.py lists them. `options`: box, form, place(element), which puts a part's
   * element before the box, headers(), those of its requests, and announce(text). The page is watched until `signal` aborts. */
  constructor(parts, options, signal) {
    const address = new URLSearchParams(location.search);
    const waiting = new Set(parts);
    const load = async (part) => {
      waiting.delete(part);
      const loaded = await import(part.script).catch(() => null);
      if (signal.aborted) return;
      if (!loaded) {
        addEventListener("online", () => load(part), { once: true, signal });
        return;
      }
      const made = new loaded.default({ ...options, url: part.url, query: address.get(part.query) ?? "" }, signal);
      this.#loaded.push(made);
      options.place(made.element);
      made.typed();
    };
    const look = () => {
      for (const part of waiting) if (part.key && options.box.value.includes(part.key)) load(part);
    };
    for (const part of parts) if ((part.mark && document.querySelector(part.mark)) || (part.query && address.has(part.query))) load(part);
    options.box.addEventListener("input", look, { signal });
    look();
  }

  /** What a message adds to the `forwardedProps` of its run. */
  forwarded(text) {
    return Object.assign({}, ...this.#loaded.map((part) => part.forwarded(text)));
  }
}
