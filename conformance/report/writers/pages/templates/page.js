"use strict";
const byId = (id) => document.getElementById(id);

function unfold(target) {
  for (let node = target; node; node = node.parentElement) {
    if (node instanceof HTMLDetailsElement) node.open = true;
  }
  target.scrollIntoView();
}

function copy(button) {
  const command = button.parentElement.querySelector("pre.command");
  getSelection().selectAllChildren(command);
  const done = () => {
    button.textContent = "copied";
    byId("status").textContent = ""; // screen readers announce changes only
    setTimeout(() => { byId("status").textContent = "copied"; }, 100);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(command.textContent).then(done, () => {});
  else if (document.execCommand("copy")) done();
}

// Connects what all pages have: the form of filters, buttons that copy, the key "/", and links to parts of the page.
// filter: shows what the form asks for. prepare: is called with the target of a link before it is opened.
function connect(filter, prepare = () => {}) {
  function reveal() {
    let target = null;
    try {
      target = byId(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return;
    }
    if (!target) return;
    prepare(target);
    unfold(target);
  }
  byId("filters").addEventListener("input", filter);
  byId("filters").addEventListener("reset", () => setTimeout(filter));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (button) copy(button);
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
}
