// The REST API's pages: Swagger UI on the site's own schema. A page of its own, so that the policy allows no inline script.
const place = document.getElementById("api-docs");

window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  tryItOutEnabled: true,
});
