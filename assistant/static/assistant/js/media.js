/* Shows files that tools returned, in the page. */

import { make } from "./elements.js";
import { sizeOf } from "./shared.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

const isOwn = (url) => url && URL.canParse(url, location.href) && new URL(url, location.href).origin === location.origin;

/** Return an element for a file that a tool returned: an image, or a card to download it. Only this site's URLs are used. */
export function mediaShown({ name, mediaType, size: bytes, url }) {
  const size = sizeOf(bytes);
  const label = `${name} (${size})`;
  if (!isOwn(url)) return make("figure.media", {}, make("figcaption", {}, label));
  if (IMAGES.has(mediaType)) {
    const image = make("img", { src: url, alt: name, loading: "lazy" });
    return make("figure.media", {}, make("a", { href: url, target: "_blank", rel: "noopener" }, image), make("figcaption", {}, label));
  }
  const kind = /\.(\w{1,4})$/.exec(name)?.[1].toUpperCase() ?? "…";
  const text = make("span.file-text", {}, make("span.file-name", { dir: "auto" }, name), make("span.file-about", {}, size));
  const link = make("a.file-card", { href: url, download: name, "aria-label": label }, make("span.file-kind", {}, kind), text);
  return make("figure.media", {}, link);
}
