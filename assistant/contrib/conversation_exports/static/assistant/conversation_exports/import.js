/* Makes a conversation of an export that is chosen. */

import { gettext } from "../js/i18n.js";
import { toast } from "../js/toast.js";

/** Let the person choose a file, make a conversation of it below `base`, and go there by `go(address)`. */
export function open({ base, go }) {
  const input = Object.assign(document.createElement("input"), { type: "file", accept: ".json,application/json" });
  input.addEventListener("change", async () => {
    try {
      go(await imported(`${base}import/`, input.files[0]));
      toast(gettext("Imported"));
    } catch (error) {
      toast(error.message);
    }
  });
  input.click();
}

/** Return the address of the conversation that the server makes of a file. Throws the reason if it makes none. */
async function imported(address, file) {
  const body = new FormData();
  body.append("file", file);
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const answer = await fetch(address, { method: "POST", headers: { "X-CSRFToken": token }, body, redirect: "error" });
  const result = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(result.error ?? gettext("This did not work. Reload the page and try again."));
  return result.next;
}
