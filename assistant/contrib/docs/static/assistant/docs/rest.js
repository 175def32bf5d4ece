// Starts Swagger UI with the site's own schema. A separate file, because the Content-Security-Policy forbids inline scripts.
const place = document.getElementById("api-docs");

// Swagger UI has a dark theme, which the page must switch on itself.
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
