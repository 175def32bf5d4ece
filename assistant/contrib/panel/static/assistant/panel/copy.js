// Copies the text of the element that a button's data-copy names.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = button.dataset.done;
    } catch {
      // Plain HTTP has no clipboard API: select the text, so that the user can copy it with the keyboard.
      getSelection().selectAllChildren(source);
    }
  });
}
