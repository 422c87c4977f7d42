"use strict";
// Copy buttons; everything else works without a script.
for (const line of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(line.dataset.copy);
    button.textContent = "Copied";
  });
  line.after(button);
}
