// Sets a switch without reloading the page: submits the form with fetch and replaces the board with the one in the response.
const main = document.querySelector("#content-main");
const status = () => document.querySelector("#board-status");

async function setSwitch(form, button) {
  const body = new FormData(form);
  body.set(button.name, button.value);
  form.setAttribute("aria-busy", "true");
  const response = await fetch(location.href, { method: "POST", body });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector("#board");
  if (!fresh) throw new Error("signed out");
  const scroll = form.querySelector(".board-scroll");
  const left = scroll.scrollLeft;
  document.getElementById("undo")?.replaceWith(document.adoptNode(page.getElementById("undo")));
  form.replaceWith(document.adoptNode(fresh));
  document.querySelector(".board-scroll").scrollLeft = left;
  document.getElementById(button.id)?.focus({ preventScroll: true });
  const message = page.querySelector(".messagelist li");
  status().textContent = message ? message.textContent : "";
  status().className = message && message.classList.contains("error") ? "error" : "";
}

main.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id !== "board" || !event.submitter) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy") === "true") return;
  // After any failure, submit the form normally: the browser then shows the server's page.
  setSwitch(form, event.submitter).catch(() => {
    const input = document.createElement("input");
    input.type = "hidden";
    input.name = event.submitter.name;
    input.value = event.submitter.value;
    form.append(input);
    form.submit();
  });
});

// The box of a group ticks its tools, and the bar says how many are ticked.
main.addEventListener("change", (event) => {
  const { target } = event;
  const form = target.closest("#board");
  if (!form || target.type !== "checkbox") return;
  if (target.dataset.group !== undefined) {
    for (const box of target.closest("tbody").querySelectorAll("input[name=tool]")) box.checked = target.checked;
  }
  const count = form.querySelectorAll("input[name=tool]:checked").length;
  for (const shown of form.querySelectorAll("[data-ticked]")) shown.textContent = count;
});
