/* Creates elements without HTML strings, which a host page's Content-Security-Policy may forbid. */

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  again: "M19 8.5A7.5 7.5 0 1 0 19.5 13M19.5 4.5v4.5H15",
  ask: "M12 16.8v.2M9.3 9.2A2.8 2.8 0 1 1 12 12.3v1.4M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17",
  attach: "M19.5 11.5l-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-7.9 7.9a1.5 1.5 0 0 1-2.2-2.2l7.2-7.2",
  bell: "M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15zM10 20.5h4M12 5V3.5",
  chat: "M4 5.5h16v11H11l-5 4v-4H4z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  chevron: "M7 10l5 5 5-5",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  cross: "M7.5 7.5l9 9M16.5 7.5l-9 9M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17",
  down: "M7 13.5V4.5H4v9zM7 13l4 6.5c1.6 0 2.3-1.3 2-2.6L12.4 14H18c1.5 0 2.4-1.3 2-2.7l-1.5-5.3c-.3-.9-1-1.5-2-1.5H7",
  edit: "M4.5 19.5l1-4L16 5l3 3L8.5 18.5zM13.5 7.5l3 3",
  fresh: "M12 5v14M5 12h14",
  latest: "M12 5v13.5M6 12.5l6 6 6-6",
  page: "M6.5 3.5h7.5l4 4v13H6.5zM14 3.5v4h4M9.5 12h5M9.5 15.5h5",
  ring: "M12 4a8 8 0 1 0 8 8",
  send: "M12 19V5.5M6 11l6-6 6 6",
  slash: "M6.2 6.2l11.6 11.6M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17",
  stop: "M7 7h10v10H7z",
  up: "M7 10.5v9H4v-9zM7 11l4-6.5c1.6 0 2.3 1.3 2 2.6L12.4 10H18c1.5 0 2.4 1.3 2 2.7l-1.5 5.3c-.3.9-1 1.5-2 1.5H7",
};

/** Return an element with classes, properties and children: `make("p.note", {hidden: true}, "text")`. */
export function make(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  made.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && !key.includes("-")) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}
