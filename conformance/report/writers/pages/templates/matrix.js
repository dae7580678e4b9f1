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

connect(filter);
