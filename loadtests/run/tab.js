// Makes our tab of Locust's page show our page: an element of its own, which React draws as it draws any other.
// Where Locust ignores `component`, its tab shows the table of TTFT, ITL and so on instead.
(() => {
  const NAME = "chatproof-report";
  const EVERY_MS = 2000;

  class Report extends HTMLElement {
    connectedCallback() {
      if (!this.shadowRoot) {
        const bar = document.createElement("p");
        bar.className = "dim";
        this.said = document.createElement("span");
        const link = Object.assign(document.createElement("a"), { href: "./chatproof", target: "_blank" });
        link.textContent = "Open as a page of its own";
        bar.append(link, this.said);
        this.shown = document.createElement("div");
        this.attachShadow({ mode: "open" }).append(this.shown, bar);
      }
      this.follow();
    }

    disconnectedCallback() {
      clearTimeout(this.timer);
    }

    async follow() {
      clearTimeout(this.timer);
      if (!document.hidden) await this.read();
      if (this.isConnected) this.timer = setTimeout(() => this.follow(), EVERY_MS);
    }

    // The page is drawn by the server, with everything escaped; nothing in it runs.
    async read() {
      try {
        const answer = await fetch("./chatproof", { cache: "no-store" });
        if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        this.shown.replaceChildren(page.querySelector("style"), page.querySelector("main"));
        this.said.textContent = "";
      } catch {
        this.said.textContent = "; Locust does not answer, this is the last that it said";
      }
    }
  }

  const tab = (window.templateArgs?.extended_tabs ?? []).find((each) => each.key === "chatproof");
  if (!tab || !window.customElements) return;
  customElements.define(NAME, Report);
  tab.component = NAME;
})();
