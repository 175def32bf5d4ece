// What is not of the panel, such as signing in, is no matter of its frame.
window.top.location.replace(document.querySelector("a").href);
