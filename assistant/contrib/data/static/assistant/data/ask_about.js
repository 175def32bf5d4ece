/* Puts "Ask about this" beside the tools of a change page of the admin. The address is in the attributes of this script. */

(() => {
  const { address, label } = document.currentScript.dataset;

  function addLink() {
    const link = document.createElement("a");
    link.href = address;
    link.textContent = label;
    link.className = "historylink assistant-ask";
    const tools = document.querySelector(".object-tools");
    if (tools) {
      const item = document.createElement("li");
      item.append(link);
      tools.prepend(item);
    } else {
      document.querySelector("#content h1, h1")?.after(link);
    }
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", addLink);
  else addLink();
})();
