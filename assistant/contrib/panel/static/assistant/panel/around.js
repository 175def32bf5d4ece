// The page around the panel's frame: as high as is left of the window.
const frame = document.querySelector(".tenant-assistant-panel");

function measure() {
  const above = frame.getBoundingClientRect().top + window.scrollY;
  frame.style.setProperty("--tenant-assistant-above", `${Math.max(0, Math.round(above))}px`);
}

measure();
addEventListener("resize", measure);
addEventListener("load", measure);
