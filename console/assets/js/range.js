// The time range of a page, kept in its address: range=24h, or from= and to=.
import { params, setParams } from "./shell.js";
import { when } from "./format.js";

const lengths = { "1h": 3600e3, "6h": 6 * 3600e3, "24h": 24 * 3600e3, "7d": 7 * 86400e3, "30d": 30 * 86400e3 };

// range reads the address: from and to are times for the API, "" where open. now fixes an open end.
export function range(now = Date.now()) {
  const from = params.get("from") || "", to = params.get("to") || "";
  if (from || to) return { from, to, custom: true };
  const name = lengths[params.get("range")] ? params.get("range") : params.get("range") === "all" ? "all" : "24h";
  if (name === "all") return { from: "", to: "", name };
  return { from: new Date(now - lengths[name]).toISOString(), to: new Date(now).toISOString(), name };
}

// rangeControl shows the range and calls change after each choice.
export function rangeControl(change) {
  const el = document.querySelector("[data-range]");
  const show = () => {
    const r = range();
    for (const b of el.querySelectorAll("button")) b.setAttribute("aria-pressed", String(b.dataset.value === r.name));
    const out = el.querySelector("output");
    out.hidden = !r.custom;
    out.textContent = r.custom ? `${when(r.from)} – ${r.to ? when(r.to) : "now"}` : "";
  };
  el.addEventListener("click", (e) => {
    const button = e.target.closest("button");
    if (!button) return;
    setParams({ range: button.dataset.value, from: "", to: "" }, true);
    show();
    change();
  });
  addEventListener("popstate", () => location.reload());
  show();
  return { show, set(from, to) {
    setParams({ range: "", from: from.toISOString(), to: to.toISOString() }, true);
    show();
    change();
  } };
}
