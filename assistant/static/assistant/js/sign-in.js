/* Says on the sign-in page that Caps Lock is on, before a password is refused for it. */

const password = document.querySelector("input[type=password]");
const hint = document.getElementById("caps-lock");
for (const type of ["keydown", "keyup", "pointerdown"]) {
  password.addEventListener(type, (event) => (hint.hidden = !event.getModifierState?.("CapsLock")));
}
password.addEventListener("blur", () => (hint.hidden = true));
