// Theme switch, names under the pointer in heat maps, everything open when printed. No network.
"use strict";
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
for (const map of document.querySelectorAll(".heat")) {
  const tip = map.parentElement.querySelector(".tip");
  map.addEventListener("pointerover", event => {
    const title = event.target.querySelector && event.target.querySelector("title");
    tip.textContent = title ? title.textContent : "";
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => { d.open = true; }));
