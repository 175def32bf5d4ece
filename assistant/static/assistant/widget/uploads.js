/* Lets visitors attach files: the button, and the tray of what is about to be sent. Loaded if the tenant allows files. */

import { Tray } from "../js/files.js";
import { iconButton, make } from "./elements.js";

/** Add the button and the tray to the panel. `files` is what the token's answer says of them. */
export function allowFiles(panel, connection, files) {
  const tray = new Tray({
    target: () => ({ url: new URL(files.url, connection.server).href, headers: { Authorization: `Bearer ${connection.token}` } }),
    maxBytes: files.max_bytes,
    most: files.most,
    seesImages: files.sees_images,
    asBlob: true,
    changed: () => panel.refit(),
    emptied: () => panel.focus(),
    announce: (text) => panel.announce(text),
  });
  const input = make("input", { type: "file", multiple: true, hidden: true, accept: files.accept });
  input.onchange = () => {
    tray.add([...input.files]);
    input.value = "";
    panel.focus();
  };
  panel.allowFiles(tray, iconButton("attach", "Attach files", () => input.click()), input);
}
