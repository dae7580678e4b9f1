"use strict";
const byId = (id) => document.getElementById(id);
const fields = ["search", "topic", "keyword", "outcome"].map(byId);
const rows = [...document.querySelectorAll("#requirements .row")];
const groups = [...document.querySelectorAll("#requirements .group")];
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const initiallyOpen = new Set(groups.filter((group) => group.open));

function filter() {
  const [search, topic, keyword, outcome] = fields.map((field) => field.value);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const active = Boolean(words.length || topic || keyword || outcome);
  let shown = 0;
  for (const row of rows) {
    const data = row.dataset;
    row.hidden = (topic && data.topic !== topic) || (keyword && data.keyword !== keyword) ||
      (outcome && data.outcome !== outcome) || !words.every((word) => texts.get(row).includes(word));
    shown += row.hidden ? 0 : 1;
  }
  for (const group of groups) {
    group.hidden = !group.querySelector(".row:not([hidden])");
    group.open = active ? !group.hidden : initiallyOpen.has(group);
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
  if (!target) return;
  if (target.closest("#requirements [hidden]")) {
    byId("filters").reset();
    filter();
  }
  for (let node = target; node; node = node.parentElement) {
    if (node instanceof HTMLDetailsElement) node.open = true;
  }
  target.scrollIntoView();
}

byId("filters").addEventListener("input", filter);
byId("filters").addEventListener("reset", () => setTimeout(filter));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("click", (event) => {
  const topic = event.target.closest("[data-choose]");
  if (topic) {
    byId("filters").reset();
    byId("topic").value = topic.dataset.choose;
    filter();
  }
  const button = event.target.closest("button.copy");
  if (button) {
    const command = button.parentElement.querySelector("pre.command");
    getSelection().selectAllChildren(command);
    const done = () => { button.textContent = "copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(command.textContent).then(done, () => {});
    else if (document.execCommand("copy")) done();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    byId("search").focus();
  }
});
addEventListener("hashchange", reveal);
document.documentElement.classList.add("scripted");
for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
filter();
reveal();
