/* Shows files that tools returned, in the page. */

import { sizeOf } from "./shared.js";

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

const isOwn = (url) => url && URL.canParse(url, location.href) && new URL(url, location.href).origin === location.origin;

/** Return an element for a file that a tool returned: an image, or a download link. Only this site's URLs are used. */
export function mediaShown({ name, mediaType, size: bytes, url }) {
  const caption = element("figcaption", `${name} (${sizeOf(bytes)})`);
  const figure = element("figure");
  figure.className = "media";
  if (!isOwn(url)) {
    figure.append(caption);
    return figure;
  }
  const link = element("a");
  link.href = url;
  if (IMAGES.has(mediaType)) {
    const image = element("img");
    image.src = url;
    image.alt = name;
    image.loading = "lazy";
    link.target = "_blank";
    link.rel = "noopener";
    link.append(image);
    figure.append(link, caption);
  } else {
    link.download = name;
    link.append(`${name} (${sizeOf(bytes)})`);
    figure.append(link);
  }
  return figure;
}
