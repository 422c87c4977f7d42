"use strict";
// What any of our pages gains from a script: tables that sort by their heads and filter, and copy buttons.
const ROWS_TO_FILTER = 8;
const orders = new Map(); // by caption: the order outlives content that is put in anew

const valueOf = (cell) => {
  const text = cell.querySelector("time")?.dateTime ?? cell.dataset.sort ?? cell.textContent.trim();
  const number = Number.parseFloat(text.replaceAll(",", ""));
  return /^-?[\d,]*\.?\d+( |%|$)/.test(text) && !Number.isNaN(number) ? number : text.toLowerCase();
};

const compare = (one, other) => {
  if (typeof one === "string" && typeof other === "string") return one.localeCompare(other, "en", { numeric: true });
  if (typeof one === typeof other) return one - other;
  return typeof one === "number" ? -1 : 1;
};

const sortBy = (table, column, direction) => {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, value: valueOf(row.cells[column]) }));
  const blank = (one) => one.value === "";
  rows.sort((one, other) => blank(one) - blank(other) || compare(one.value, other.value) * direction);
  body.replaceChildren(...rows.map((one) => one.row));
  [...table.tHead.rows[0].cells].forEach((head, number) => {
    if (number !== column) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  });
};

const sortable = (table) => {
  const caption = table.caption?.textContent ?? "";
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.querySelector("a, button")) return; // the server sorts by this one
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      orders.set(caption, [column, direction]);
      sortBy(table, column, direction);
    });
    head.append(button);
  });
  if (orders.has(caption)) sortBy(table, ...orders.get(caption));
};

const filterRows = (table, text) => {
  const words = text.toLowerCase().split(/\s+/);
  for (const row of table.tBodies[0].rows) {
    const said = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => said.includes(word));
  }
};

const filterable = (table) => {
  const label = document.createElement("label");
  const input = document.createElement("input");
  input.type = "search";
  label.className = "filter";
  label.append(`Filter: ${table.caption?.textContent.toLowerCase() ?? "rows"}`, input);
  input.addEventListener("input", () => filterRows(table, input.value));
  table.closest(".scroll").before(label);
};

const copyButton = (name, text) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = name;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text());
    button.textContent = "Copied";
  });
  return button;
};

// A text without the numbers and remarks of its lines.
const textOf = (pre) => {
  const copy = pre.cloneNode(true);
  for (const one of copy.querySelectorAll(".number, .said")) one.remove();
  return copy.textContent;
};

// Once for the page, and again for each part that a script puts in anew.
const enhance = (part) => {
  for (const table of part.querySelectorAll(".scroll > table")) {
    const searched = part.closest("[data-searched]") ?? table.closest("[data-searched]");
    if (table.tBodies[0].rows.length > 1) sortable(table);
    if (table.tBodies[0].rows.length >= ROWS_TO_FILTER && !searched) filterable(table);
  }
  for (const line of part.querySelectorAll(".command[data-copy]")) line.append(copyButton("Copy", () => line.dataset.copy));
  for (const pre of part.querySelectorAll("pre[data-copied]")) {
    (pre.closest("section")?.querySelector("h2") ?? pre.previousElementSibling).after(
      copyButton(`Copy ${pre.dataset.copied}`, () => textOf(pre)),
    );
  }
};

// A search field filters what is on the page while one types; the server searches everything on Enter.
for (const form of document.querySelectorAll("form[data-filters]")) {
  form.addEventListener("input", (event) => {
    const target = document.getElementById(form.dataset.filters);
    for (const table of target?.querySelectorAll(".scroll > table") ?? []) filterRows(table, event.target.value);
  });
}
document.addEventListener("replaced", (event) => enhance(event.target));
enhance(document.body);
