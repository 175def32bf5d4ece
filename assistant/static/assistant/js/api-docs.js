// The REST API's pages: Swagger UI on the site's own schema. A page of its own, so that the policy allows no inline script.
const place = document.getElementById("api-docs");

// Swagger UI has a dark scheme, and leaves it to the page when to use it.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  tryItOutEnabled: true,
});
