// The programs to paste: tabs, copying, and the project's own values in them.
import { copier } from "./dom.js";

export function snippets(values = {}) {
  const place = document.querySelector("[data-snippets]");
  const tabs = [...place.querySelectorAll("[role=tab]")];
  const choose = (tab) => {
    for (const t of tabs) {
      const on = t === tab;
      t.setAttribute("aria-selected", String(on));
      t.tabIndex = on ? 0 : -1;
      document.getElementById(t.getAttribute("aria-controls")).hidden = !on;
    }
    tab.focus();
  };
  for (const t of tabs) {
    t.onclick = () => choose(t);
    t.onkeydown = (e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (by) choose(tabs[(tabs.indexOf(t) + by + tabs.length) % tabs.length]);
    };
  }
  const known = { __BASE_URL__: location.origin, __API_KEY__: values.key || "YOUR_API_KEY", __WEBHOOK_SECRET__: values.secret || "YOUR_WEBHOOK_SECRET" };
  for (const pre of place.querySelectorAll("[data-snippet]")) {
    pre.dataset.form ??= pre.textContent;
    pre.textContent = pre.dataset.form.replace(/__[A-Z_]+__/g, (name) => known[name] ?? name);
  }
  for (const button of place.querySelectorAll("[data-copy]")) {
    if (button.dataset.ready) continue;
    button.dataset.ready = "1";
    copier(button, () => button.closest("[role=tabpanel]").querySelector("pre").textContent);
  }
}
