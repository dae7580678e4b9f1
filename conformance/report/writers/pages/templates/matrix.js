"use strict";
const byId = (id) => document.getElementById(id);
const rows = [...document.querySelectorAll("#matrix .match")];
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const topic = byId("topic").value;
  const show = byId("show").value;
  let shown = 0;
  for (const row of rows) {
    row.hidden = (topic && row.dataset.topic !== topic) || (show && !row.dataset[show]) ||
      !words.every((word) => texts.get(row).includes(word));
    shown += row.hidden ? 0 : 1;
  }
  byId("shown").textContent = `${shown} of ${rows.length} requirements`;
}

function reveal() {
  let target = null;
  try {
    target = byId(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return;
  }
  for (let node = target; node; node = node.parentElement) {
    if (node instanceof HTMLDetailsElement) node.open = true;
  }
  if (target) target.scrollIntoView();
}

byId("filters").addEventListener("input", filter);
byId("filters").addEventListener("reset", () => setTimeout(filter));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const command = button.parentElement.querySelector("pre.command");
  getSelection().selectAllChildren(command);
  const done = () => { button.textContent = "copied"; };
  if (navigator.clipboard) navigator.clipboard.writeText(command.textContent).then(done, () => {});
  else if (document.execCommand("copy")) done();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    byId("search").focus();
  }
});
addEventListener("hashchange", reveal);
for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
filter();
reveal();
