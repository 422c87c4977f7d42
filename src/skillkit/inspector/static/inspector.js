"use strict";
// What the pages cannot do without: ask again while typing, show what changed, and say that something did.

// Our own server rendered these pages and escaped every text in them; the policy of the page runs no script anyway.
const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

// Put fresh content in place and leave focus and open details where the reader had them.
const replace = (target, nodes) => {
  const focused = target.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  const open = new Set([...target.querySelectorAll("details[open][id]")].map((one) => one.id));
  target.replaceChildren(...nodes);
  target.dispatchEvent(new Event("replaced", { bubbles: true }));
  for (const one of target.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
  if (focused) [...target.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
};

for (const form of document.querySelectorAll("form[data-result]")) {
  const target = document.getElementById(form.dataset.result);
  let latest = 0;
  let timer = 0;
  const ask = async () => {
    const number = ++latest;
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
    query.set("part", "result");
    const response = await fetch(`${form.getAttribute("action")}?${query}`);
    const text = await response.text();
    if (number === latest && response.ok) replace(target, parsed(text).body.childNodes);
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 80); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); ask(); });
}

const follow = async () => {
  const lists = [...document.querySelectorAll("[data-follow]")];
  if (!lists.length) return;
  const response = await fetch(location.href);
  if (!response.ok) return;
  const fresh = parsed(await response.text());
  for (const list of lists) {
    const now = fresh.getElementById(list.id);
    if (now && now.innerHTML !== list.innerHTML) replace(list, now.childNodes);
  }
};

if (document.body.dataset.live) {
  const notice = document.getElementById("changed");
  const source = new EventSource("/live");
  source.addEventListener("progress", follow);
  // What came between the page and this stream is told by nobody.
  source.addEventListener("open", () => { if (document.querySelector(".waiting")) follow(); });
  source.addEventListener("changed", (event) => {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "show it";
    notice.replaceChildren(`${event.data} – `, link);
    notice.hidden = false;
    follow();
  });
  addEventListener("pagehide", () => source.close());
}
