// Shows the difference as soon as a file is chosen.
const form = document.getElementById("bundle-upload");

form?.addEventListener("change", () => form.requestSubmit());
