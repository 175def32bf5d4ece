// Shows that a passkey was not used, instead of django-allauth's line in the console.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey-error").hidden = false;
});
