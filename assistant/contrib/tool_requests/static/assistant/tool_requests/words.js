/* How requests for tools are told. */

import { gettext } from "../js/i18n.js";

/** What was asked for: the tool's name, or the member's own words. */
export const nameOf = ({ title, wish }) => (title ? gettext("“%(tool)s”", { tool: title }) : wish);

/** What became of it, with the answer's words. */
export function answerText(request) {
  const { state, answer, answered_by: by = request.answeredBy } = request;
  if (state === "open") return gettext("Waits for an answer");
  const said = state === "granted" ? gettext("Yes") : gettext("No");
  const words = answer ? gettext("%(said)s: %(answer)s", { said, answer }) : said;
  return by ? gettext("%(words)s (%(person)s)", { words, person: by }) : words;
}
