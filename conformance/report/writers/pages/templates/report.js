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

document.addEventListener("click", (event) => {
  const topic = event.target.closest("[data-choose]");
  if (!topic) return;
  byId("filters").reset();
  byId("topic").value = topic.dataset.choose;
  filter();
});
document.documentElement.classList.add("scripted");
connect(filter, (target) => {
  if (!target.closest("#requirements [hidden]")) return;
  byId("filters").reset();
  filter();
});
