// Hides what a copy of another tenant does not use, and suggests a short name while the name is typed.
const form = document.querySelector("#new-tenant");
const { name, slug, copy_of: copyOf } = form.elements;
const ofAssistant = document.querySelector("#of-assistant");

const hideUnused = () => { ofAssistant.hidden = copyOf.value.trim() !== ""; };

const shortened = (text) =>
  text.normalize("NFKD").replace(/[^\x20-\x7e]/g, "").toLowerCase().replace(/[^\w\s-]/g, "").trim().replace(/[\s-]+/g, "-").slice(0, 63);

copyOf.addEventListener("input", hideUnused);
name.addEventListener("input", () => { slug.placeholder = shortened(name.value); });
hideUnused();
