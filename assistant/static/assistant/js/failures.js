/* What a failed answer tells its reader to do. Who is told what stands in docs/chat.md. */

import { gettext } from "./i18n.js";
import { inLocalTime } from "./shared.js";

// What failed here or at the provider is nothing that the reader has done: they are told what to do, by the error's code.
const ADVICE = {
  provider_error: gettext("The answer could not be finished. Try again in a moment."),
  provider_timeout: gettext("The answer took too long. Try again, perhaps with a shorter question."),
  provider_rate_limited: gettext("Too much is being asked right now. Try again in a minute."),
  provider_quota: gettext("The assistant cannot answer at the moment. Try again later."),
  internal_error: gettext("Something went wrong here. Try again in a moment."),
};
const ERROR_ID = /\([^()]*?([0-9a-f]{6,})\)/;

/** Return the sentence for a `RUN_ERROR`. `audience` is visitor, member or admin; admins are told what has failed, too. */
export function failureText({ message, code }, audience) {
  const advice = ADVICE[code];
  if (!advice) return inLocalTime(message);
  if (audience === "admin") return `${advice} ${inLocalTime(message)}`;
  const id = ERROR_ID.exec(message)?.[1];
  if (audience === "visitor" || !id) return advice;
  return `${advice} ${gettext("If it happens again, give an administrator this number: %(id)s.", { id })}`;
}
