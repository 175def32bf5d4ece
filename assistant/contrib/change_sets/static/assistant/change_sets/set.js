// A new prompt begins with the text that the chosen assistant has now, until somebody has changed it.

const select = document.getElementById("id_prompt_assistant");
const text = document.getElementById("id_prompt_value");

if (select && text) {
  const prompts = JSON.parse(document.getElementById("set-prompts").textContent);
  select.addEventListener("change", () => {
    const isUntouched = text.value === "" || Object.values(prompts).includes(text.value);
    if (isUntouched) text.value = prompts[select.value] ?? "";
  });
}
