// Offers the providers' models in the fields of an assistant's models; asked for when a field is first entered.
const tenant = document.getElementById("id_tenant") ?? document.querySelector("[name=tenant]");

function offerModels(name, field, provider) {
  const address = new URL(location.href);
  address.search = "";
  address.pathname = address.pathname.replace(/\/assistant\/assistant\/.*$/, "/assistant/assistant/models/");
  const list = document.createElement("datalist");
  list.id = `${name}-models`;
  const status = document.createElement("div");
  status.className = "help";
  status.setAttribute("role", "status");
  field.setAttribute("list", list.id);
  field.autocomplete = "off";
  field.closest(".form-row, .fieldBox")?.append(list, status);
  let asked = "";

  async function offer() {
    const query = new URLSearchParams({ provider: provider.value, tenant: tenant?.value ?? "" }).toString();
    if (query === asked) return;
    asked = query;
    address.search = query;
    try {
      const response = await fetch(address, { headers: { Accept: "application/json" } });
      const found = await response.json();
      if (query !== asked) return;
      list.replaceChildren(...found.models.map((name) => new Option(name, name)));
      status.textContent = found.sentence;
    } catch {
      if (query === asked) asked = "";
    }
  }

  field.addEventListener("focus", offer);
  provider.addEventListener("change", () => { if (asked) offer(); });
}

for (const [name, fieldId, providerId] of [["provider", "id_model", "id_provider"], ["fallback", "id_fallback_model", "id_fallback_provider"]]) {
  const field = document.getElementById(fieldId);
  const provider = document.getElementById(providerId);
  if (field && provider) offerModels(name, field, provider);
}
