"use strict";
// What the pages cannot do without: filter a table while typing, ask again while typing, say that something changed.

for (const field of document.querySelectorAll("input[data-filter]")) {
  const rows = [...document.querySelectorAll(field.dataset.filter + " tbody tr")];
  const count = document.getElementById(field.dataset.count);
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    if (count) count.textContent = `${shown} of ${rows.length}`;
  };
  field.addEventListener("input", apply);
  if (field.value) apply();
}

for (const form of document.querySelectorAll("form[data-result]")) {
  const target = document.getElementById(form.dataset.result);
  let latest = 0;
  let timer = 0;
  const ask = async () => {
    const number = ++latest;
    const query = new URLSearchParams(new FormData(form));
    history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
    query.set("part", "result");
    const response = await fetch(`${form.getAttribute("action")}?${query}`);
    const text = await response.text();
    if (number !== latest || !response.ok) return;
    // Our own server rendered this and escaped every text in it; the policy of the page runs no script anyway.
    target.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
}

if (document.body.dataset.live) {
  const notice = document.getElementById("changed");
  const source = new EventSource("/live");
  source.addEventListener("changed", (event) => {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "show it";
    notice.replaceChildren(`${event.data} – `, link);
    notice.hidden = false;
    document.dispatchEvent(new Event("skillkit:changed"));
  });
  addEventListener("pagehide", () => source.close());
}

for (const list of document.querySelectorAll("[data-follow]")) {
  document.addEventListener("skillkit:changed", async () => {
    const response = await fetch(location.href);
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(list.id);
    if (fresh) list.replaceChildren(...fresh.childNodes);
  });
}
