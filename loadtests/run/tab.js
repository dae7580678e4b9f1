// Shows the report in the tab that chatproof adds to Locust's page, as a custom element that React renders like any other.
// A Locust version that ignores `component` shows the table of TTFT, ITL and so on instead.
(() => {
  const NAME = "chatproof-report";
  const EVERY_MS = 2000;

  class Report extends HTMLElement {
    connectedCallback() {
      if (!this.shadowRoot) {
        const bar = document.createElement("p");
        bar.className = "dim";
        this.status = document.createElement("span");
        const link = Object.assign(document.createElement("a"), { href: "./chatproof", target: "_blank" });
        link.textContent = "Open as a separate page";
        bar.append(link, this.status);
        this.content = document.createElement("div");
        this.attachShadow({ mode: "open" }).append(this.content, bar);
      }
      this.poll();
    }

    disconnectedCallback() {
      clearTimeout(this.timer);
    }

    async poll() {
      clearTimeout(this.timer);
      if (!document.hidden) await this.load();
      if (this.isConnected) this.timer = setTimeout(() => this.poll(), EVERY_MS);
    }

    // The server renders the report with all text escaped; it contains no scripts.
    async load() {
      try {
        const answer = await fetch("./chatproof", { cache: "no-store" });
        if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        this.content.replaceChildren(page.querySelector("style"), page.querySelector("main"));
        this.status.textContent = "";
      } catch {
        this.status.textContent = "; Locust does not answer; this is the last report that was received";
      }
    }
  }

  const tab = (window.templateArgs?.extended_tabs ?? []).find((item) => item.key === "chatproof");
  if (!tab || !window.customElements) return;
  customElements.define(NAME, Report);
  tab.component = NAME;
})();
