/* Files that tools returned: images as such, anything else to be saved. The page's cookies play no part. */

import { make } from "./elements.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Elements for `list`, as the server tells of files; they are fetched with the token of the line. */
export function shown(list, line) {
  const fetched = async (url) => {
    const address = new URL(url, line.server);
    if (address.origin !== new URL(line.server).origin) throw new Error(`${url} is not of the assistant's server`);
    const headers = { Authorization: `Bearer ${line.token}` };
    const answer = await fetch(address, { headers, credentials: "omit" });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    return answer.blob();
  };
  return list.map((file) => (IMAGES.has(file.mediaType) ? image(file, fetched) : download(file, fetched)));
}

function image({ name, url }, fetched) {
  const picture = make("img", { alt: name });
  const place = make("span", {}, name);
  if (url) show(picture, place, () => fetched(url));
  return place;
}

async function show(picture, place, fetched) {
  try {
    picture.src = URL.createObjectURL(await fetched());
    await picture.decode();
    place.replaceChildren(picture);
  } catch {
    /* the page's policy forbids it, or the file is gone: its name stands there */
  }
}

function download({ name, size, url }, fetched) {
  const told = `${name} (${Math.max(1, Math.round(size / 1024))} KB)`;
  if (!url) return make("span", {}, told);
  return make("button", { type: "button", onclick: () => save(name, () => fetched(url)) }, told);
}

async function save(name, fetched) {
  // As bytes of no kind: nothing in them may run in the host's origin.
  const bytes = new Blob([await fetched()], { type: "application/octet-stream" });
  const href = URL.createObjectURL(bytes);
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
