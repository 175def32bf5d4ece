/* Shows files that tools returned: images inline, anything else as a download. Requests carry no cookies. */

import { sizeOf } from "../js/shared.js";
import { make } from "./elements.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Return elements for `list`, the `media` of a `tool.finished` event. Files are fetched with the connection's token. */
export function shown(list, connection) {
  const fetched = async (url) => {
    const address = new URL(url, connection.server);
    if (address.origin !== new URL(connection.server).origin) throw new Error(`${url} is not on the assistant's server`);
    const headers = { Authorization: `Bearer ${connection.token}` };
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
    /* forbidden by the page's policy, or the file was deleted: keep showing its name */
  }
}

/** Show a brand's logo in `picture`. As a blob, which pages allow whose policy lets files of tools be shown. */
export async function showLogo(picture, url) {
  if (picture.src) return;
  try {
    const answer = await fetch(url, { credentials: "omit" });
    if (!answer.ok) return;
    picture.src = URL.createObjectURL(await answer.blob());
    await picture.decode();
    picture.hidden = false;
  } catch {
    /* forbidden by the page's policy: there is the name */
  }
}

function download({ name, size, url }, fetched) {
  const label = `${name} (${sizeOf(size)})`;
  if (!url) return make("span", {}, label);
  return make("button", { type: "button", onclick: () => save(name, () => fetched(url)) }, label);
}

async function save(name, fetched) {
  // As octet-stream, so that nothing in the file can run in the host page's origin.
  const bytes = new Blob([await fetched()], { type: "application/octet-stream" });
  const href = URL.createObjectURL(bytes);
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
