/* Shows files that tools returned, in the page. */

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function size(bytes) {
  return bytes < 1024 ? `${bytes} bytes` : bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

const isOwn = (url) => url && URL.canParse(url, location.href) && new URL(url, location.href).origin === location.origin;

/** Return an element for a file that a tool returned: an image, or a download link. Only this site's URLs are used. */
export function mediaShown({ name, mediaType, size: bytes, url }) {
  const caption = element("figcaption", `${name} (${size(bytes)})`);
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
    link.append(`${name} (${size(bytes)})`);
    figure.append(link);
  }
  return figure;
}
