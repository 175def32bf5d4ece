/* The files that are about to be sent: uploaded one by one, with a thumbnail, their progress, and a button that removes them.
 * Loaded when the first file is chosen, dropped or pasted. */

import { icon, make } from "./elements.js";
import { gettext, listed, locale, ngettext } from "./i18n.js";
import { sizeOf } from "./shared.js";

const CANNOT_SEE = gettext("The model of this assistant cannot see images.");
const CANNOT_READ = gettext("The model of this assistant cannot read this PDF, which holds only pictures of text.");
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;
const FAILED = gettext("This file could not be uploaded. Remove it, and try again.");

/** Show a file's picture in `place`. Pages' policies allow either data: or, with `asBlob`, blob: URLs. */
function thumbnail(file, place, asBlob) {
  if (!IMAGE.test(file.type)) return;
  const show = (src) => {
    const sign = [...place.childNodes];
    const image = make("img", { src, alt: "", onerror: () => image.replaceWith(...sign) });
    place.replaceChildren(image);
  };
  if (asBlob) return show(URL.createObjectURL(file));
  const reader = new FileReader();
  reader.onload = () => show(reader.result);
  reader.readAsDataURL(file);
}

/** Send a file, and call `progress(share)` meanwhile. Resolves with the server's description; rejects with a sentence. */
function upload(file, { url, headers }, progress, signal) {
  const { promise, resolve, reject } = Promise.withResolvers?.() ?? deferred();
  const request = new XMLHttpRequest(); // fetch does not say how much was sent
  request.open("POST", url);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.setRequestHeader("Accept-Language", locale); // refusals are shown as they come
  request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
  request.onload = () => {
    const answer = parsed(request.responseText);
    if (request.status === 201) resolve(answer);
    else reject(new Error(answer?.message ?? FAILED));
  };
  request.onerror = () => reject(new Error(gettext("The connection broke. Remove the file, and try again.")));
  signal.addEventListener("abort", () => request.abort());
  const form = new FormData();
  form.append("file", file, file.name || "pasted.png");
  request.send(form);
  return promise;
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export class Tray {
  #files = [];

  /** `options`, which may be replaced later: target(), which returns the url and headers of uploads; maxBytes, most (files), seesImages, readsPdfs, asBlob; changed(), announce(text), dropped(text). */
  constructor(options) {
    this.options = options;
    this.element = make("ul.tray", { hidden: true, "aria-label": gettext("Files of this message") });
  }

  /** Why the message cannot be sent yet, as a sentence; empty if it can. */
  get problem() {
    const { most } = this.options;
    if (most && this.#files.filter(({ failed }) => !failed).length > most) return ngettext("A message may have at most %(count)s file. Remove some, please.", "A message may have at most %(count)s files. Remove some, please.", most);
    return this.#files.some(({ part, failed }) => !part && !failed) ? gettext("The files are still being uploaded.") : "";
  }

  get isEmpty() {
    return !this.#files.length;
  }

  /** Whether there are files that can be sent. */
  get hasFiles() {
    return this.#files.some(({ failed }) => !failed);
  }

  /** Return the content parts of the files, which are then sent. Those that could not be added are dropped, which is said. */
  take() {
    const { parts } = this;
    const dropped = this.#files.filter(({ failed }) => failed);
    if (dropped.length) this.options.dropped(gettext("Not sent: %(names)s", { names: listed(dropped.map(({ name, reason }) => `${name} (${reason})`)) }));
    for (const { element } of this.#files) element.remove();
    this.#files = [];
    this.#changed();
    return parts;
  }

  /** Show content parts again that were not sent. */
  restore(parts) {
    for (const part of parts) {
      const { name, size } = part.metadata;
      this.#show({ name, size, part, stop: new AbortController() }).dataset.state = "done";
    }
    this.#changed();
  }

  /** The content parts of the files that are uploaded. */
  get parts() {
    return this.#files.flatMap(({ part }) => part ?? []);
  }

  /** Show those of these content parts again that the server still has: files that are not sent are deleted after a day. */
  async restoreStored(parts) {
    const { url, headers } = await this.options.target();
    const has = async ({ source }) => (await fetch(`${url}${source.value}/`, { headers }).catch(() => null))?.status !== 404;
    const found = await Promise.all(parts.map(has));
    this.restore(parts.filter((_, index) => found[index]));
  }

  /** Upload files. */
  add(files) {
    for (const file of files) this.#add(file);
    this.#changed();
  }

  async #add(file) {
    const entry = { file, name: file.name || "pasted.png", size: file.size, part: null, failed: false, stop: new AbortController() };
    const element = this.#show(entry);
    const { maxBytes, seesImages, readsPdfs, asBlob } = this.options;
    thumbnail(file, element.querySelector(".thumb"), asBlob);
    if (IMAGE.test(file.type) && !seesImages) return this.#fail(entry, CANNOT_SEE);
    if (maxBytes && file.size > maxBytes) return this.#fail(entry, gettext("A file may have at most %(size)s.", { size: sizeOf(maxBytes) }));
    const bar = element.querySelector("progress");
    try {
      const { id, mediaType, name, size, isScan } = await upload(file, await this.options.target(), (share) => {
        if (share < 1) bar.value = share;
        else bar.removeAttribute("value"); // the server reads it
      }, entry.stop.signal);
      if (isScan && !readsPdfs) {
        this.#delete(id);
        throw new Error(CANNOT_READ);
      }
      const kind = mediaType.startsWith("image/") ? "image" : "document";
      entry.part = { type: kind, source: { type: "file", value: id, provider: "tenant-assistant", mimeType: mediaType }, metadata: { name, size } };
      element.dataset.state = "done";
      this.options.announce(gettext("%(name)s is ready to be sent", { name }));
    } catch (error) {
      this.#fail(entry, error.message);
    }
    this.#changed();
  }

  #fail(entry, reason) {
    entry.failed = true;
    entry.reason = reason;
    entry.element.dataset.state = "failed";
    entry.element.querySelector(".file-about").textContent = reason;
    this.options.announce(`${entry.name}: ${reason}`);
  }

  #show(entry) {
    const label = gettext("Remove %(name)s", entry);
    const remove = make("button.remove", { type: "button", title: label, "aria-label": label }, icon("close"));
    remove.onclick = () => this.#remove(entry);
    const text = make("span.file-text", {}, make("bdi.file-name", {}, entry.name), make("span.file-about", { dir: "auto" }, sizeOf(entry.size)));
    const bar = make("progress", { max: 1, value: 0, "aria-label": gettext("Uploading %(name)s", entry) });
    entry.element = make("li.file", { "data-state": "uploading" }, make("span.thumb", {}, icon("page")), text, bar, remove);
    this.#files.push(entry);
    this.element.append(entry.element);
    return entry.element;
  }

  /** Whether a file that was added is still here. */
  has(file) {
    return this.#files.some((one) => one.file === file);
  }

  /** Take back a file that was added. Returns whether it was there. */
  withdraw(file) {
    const entry = this.#files.find((one) => one.file === file);
    if (entry) this.#remove(entry);
    return Boolean(entry);
  }

  async #remove(entry) {
    entry.stop.abort();
    const index = this.#files.indexOf(entry);
    this.#files.splice(index, 1);
    entry.element.remove();
    this.options.announce(gettext("%(name)s is removed", entry));
    this.#changed();
    const next = this.#files[Math.min(index, this.#files.length - 1)];
    if (next) next.element.querySelector(".remove").focus();
    else this.options.emptied();
    if (!entry.part) return;
    this.#delete(entry.part.source.value);
  }

  async #delete(id) {
    const { url, headers } = await this.options.target();
    fetch(`${url}${id}/`, { method: "DELETE", headers }).catch(() => {}); // else it is deleted after a day
  }

  #changed() {
    this.element.hidden = this.isEmpty;
    this.options.changed();
  }
}
