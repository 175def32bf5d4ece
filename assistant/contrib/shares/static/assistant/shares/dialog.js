/* The dialog with the links to a conversation: makes them, copies them and revokes them. */

import { announce, byId } from "../js/dom.js";
import { make } from "../js/elements.js";
import { dayAndTime, gettext } from "../js/i18n.js";
import { copyText } from "../js/shared.js";
import { toast } from "../js/toast.js";

async function ask(address, method) {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const answer = await fetch(address, { method, headers: method === "POST" ? { "X-CSRFToken": token } : {}, redirect: "error" });
  const body = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(body.error ?? gettext("This did not work. Reload the page and try again."));
  return body;
}

/** Show the links that the server has of the conversation at an address. */
export async function open(conversation) {
  const address = `${conversation}shares/`;
  const [dialog, list, problem] = [byId("share"), byId("share-links"), byId("share-error")];
  const attempt = async (work) => {
    problem.hidden = true;
    try {
      await work();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  };
  // A list that was asked for before a link was made or revoked may come after the newer one.
  let newest = 0;
  const show = async (asked) => {
    const number = (newest += 1);
    const { shares } = await asked;
    if (number === newest) list.replaceChildren(...shares.map(entry));
  };
  const revoke = (id) => attempt(async () => {
    await ask(`${address}${id}/revoke/`, "POST");
    await show(ask(address, "GET"));
    announce(gettext("Link revoked"));
    byId("share-make").focus();
  });
  const entry = ({ id, url, created_at: made }) => {
    const copy = make("button.button", { type: "button" }, gettext("Copy"));
    copy.onclick = async () => {
      await copyText(url);
      copy.textContent = gettext("Copied");
      announce(gettext("Link copied"));
    };
    const when = dayAndTime(new Date(made));
    const link = make("a", { href: url, target: "_blank", rel: "noopener", dir: "ltr" }, url);
    return make("li", { "data-share": id }, link, make("span.when", {}, when), copy, make("button.button.danger", { type: "button", onclick: () => revoke(id), "aria-label": gettext("Revoke the link of %(time)s", { time: when }) }, gettext("Revoke")));
  };
  byId("share-make").onclick = () => attempt(async () => {
    const before = new Set([...list.children].map(({ dataset }) => dataset.share));
    await show(ask(address, "POST"));
    const made = [...list.children].find(({ dataset }) => !before.has(dataset.share));
    toast(gettext("Link made"), { undo: made && (() => revoke(made.dataset.share)) });
    list.querySelector("button")?.focus();
  });
  list.replaceChildren();
  dialog.showModal();
  await attempt(() => show(ask(address, "GET")));
}
