/* Lets visitors attach files. Loaded if the tenant allows files; what shows them, with the first. */

import { gettext } from "../js/i18n.js";
import { iconButton, make } from "./elements.js";

/** Add the button to the panel. `files` is what the token's answer says of them. */
export function allowFiles(panel, connection, files) {
  const openTray = async () => {
    const { Tray } = await import("../js/files.js");
    return new Tray({
      target: () => ({ url: new URL(files.url, connection.server).href, headers: { Authorization: `Bearer ${connection.token}` } }),
      maxBytes: files.max_bytes,
      most: files.most,
      seesImages: files.sees_images,
      readsPdfs: files.reads_pdfs,
      asBlob: true,
      changed: () => panel.refit(),
      emptied: () => panel.focus(),
      announce: (text) => panel.announce(text),
      dropped: (text) => panel.showProblem(text),
    });
  };
  const input = make("input", { type: "file", multiple: true, hidden: true, accept: files.accept });
  input.onchange = () => {
    panel.take([...input.files]);
    input.value = "";
    panel.focus();
  };
  panel.allowFiles(openTray, iconButton("attach", gettext("Attach files"), () => input.click()), input);
}
