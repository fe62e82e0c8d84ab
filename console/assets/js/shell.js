// What every page has: who is signed in, the project, the theme, the keys.
import { $, h, fill, ask, line } from "./dom.js";
import { get, optional, session, search } from "./api.js";

const root = document.documentElement;
export const page = { name: root.dataset.page, admin: root.dataset.admin === "true", fixed: root.dataset.fixed === "true", resource: root.dataset.resource };

export const params = new URLSearchParams(location.search);
export let project = root.dataset.project;

// link is an address of the console that keeps the project.
export function link(path, query) {
  return path + search({ ...query, project: page.fixed ? undefined : project });
}

// setParams puts the page's state into its address.
export function setParams(changes, push) {
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name);
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") params.append(name, one);
  }
  if (project && !page.fixed) params.set("project", project);
  const url = location.pathname + (params.size ? "?" + params : "");
  history[push ? "pushState" : "replaceState"](null, "", url);
}

function keep(name, value) {
  document.cookie = `${name}=${value}; Path=/; Max-Age=31536000; SameSite=Lax`;
}

// rememberProject makes a project the one that pages are about; a new one joins the switcher.
export function rememberProject(id, name) {
  project = id;
  const select = document.querySelector("[data-switch]");
  if (name && select) {
    select.prepend(h("option", { value: id }, line(name, 60).textContent));
    select.value = id;
  }
  for (const a of document.querySelectorAll("[data-nav]")) a.href = link(new URL(a.href).pathname);
  if (!page.fixed) keep("weir-project", id);
}

// projects lists what the reader may see; the newest first.
export async function projects() {
  if (page.fixed) return [await get("/projects/" + project)];
  return (await get("/projects", { limit: 200 })).data;
}

// ready fills the switcher and settles the project; without any it leads to the first visit.
export async function ready({ needsProject = true } = {}) {
  theme();
  keys();
  inView();
  signOut();
  const list = await projects().catch(() => null);
  if (list) {
    if (!list.length && needsProject) {
      location.replace("/start");
      return new Promise(() => {});
    }
    if (!page.fixed && list.length && !list.some((p) => p.project_id === project)) {
      const known = project && (await optional("/projects/" + project).catch(() => null));
      if (known) list.push(known);
      else project = list[0].project_id;
    }
    switcher(list);
  }
  if (project) rememberProject(project);
  for (const a of document.querySelectorAll("[data-nav], [data-keep]")) a.href = link(new URL(a.href).pathname);
  if (needsProject && project && !page.fixed && params.get("project") !== project) setParams({});
  return list || [];
}

function switcher(list) {
  const select = document.querySelector("[data-switch]");
  if (!select) return;
  fill(select, list.map((p) => {
    const option = h("option", { value: p.project_id }, line(p.name, 60).textContent);
    option.selected = p.project_id === project;
    return option;
  }));
  if (!list.length) fill(select, h("option", {}, "No project"));
  if (page.admin) select.append(h("option", { value: "new" }, "New project…"));
  select.disabled = page.fixed;
  select.addEventListener("change", () => {
    if (select.value === "new") return location.assign("/start");
    rememberProject(select.value);
    const stay = ["overview", "events", "errors", "costs", "performance", "webhooks"].includes(page.name);
    const range = params.get("range");
    location.assign(link(stay ? location.pathname : "/", range ? { range } : {}));
  });
}

// inView brings the present page's name into view where the names are a row that scrolls.
function inView() {
  const row = document.querySelector(".side nav"), here = row?.querySelector("[aria-current]");
  if (here && row.scrollWidth > row.clientWidth) row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}

function theme() {
  document.querySelector("[data-theme-toggle]")?.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    keep("weir-theme", root.dataset.theme);
    dispatchEvent(new Event("weir:theme"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("weir:theme")));
}

function signOut() {
  document.querySelector("[data-signout]")?.addEventListener("click", async () => {
    await fetch("/console/session", { method: "DELETE", headers: { "X-Weir-Console": "1" } });
    location.assign("/signin");
  });
}

const places = {};
let leading = 0;

// keys: g and a letter goes to a page, / to the search, j and k through rows, ? tells it.
function keys() {
  for (const a of document.querySelectorAll("[data-nav]")) places[a.title.slice(-1)] = a;
  document.querySelector("[data-keys]")?.addEventListener("click", help);
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (e.target.closest?.("input, select, textarea")) {
      if (e.key === "Escape") e.target.blur();
      return;
    }
    if (Date.now() - leading < 1200 && places[e.key]) {
      e.preventDefault();
      return location.assign(places[e.key].href);
    }
    leading = e.key === "g" ? Date.now() : 0;
    if (e.key === "?") help();
    if (e.key === "/" && $("q")) { e.preventDefault(); $("q").focus(); }
    if (e.key === "j" || e.key === "k") step(e.key === "j" ? 1 : -1);
  });
}

function step(by) {
  const rows = [...document.querySelectorAll("tr[data-open]")];
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}

function help() {
  const list = [["g then o e r p c w f k", "Overview, Events, eRrors, Performance, Costs, Webhooks, Folds, Keys and projects"], ["/", "Search"], ["j, k", "Next, previous row"], ["Enter", "Open the row"], ["p", "Pause the live tail"], ["Esc", "Leave a field, close"], ["?", "This list"]];
  ask({ title: "Keys", confirm: "", body: h("dl", { class: "pairs" }, list.map(([k, what]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, what)])) });
}

// opens makes a row open by click and by Enter; clicks on what is inside it and acts are left alone.
export function opens(row, open) {
  row.dataset.open = "";
  row.tabIndex = 0;
  row.addEventListener("click", (e) => {
    if (!e.target.closest("a, button, input, label") && !String(getSelection())) open();
  });
  row.addEventListener("keydown", (e) => {
    if (e.target === row && (e.key === "Enter" || e.key === " ")) { e.preventDefault(); open(); }
  });
  return row;
}

// failed shows what went wrong where the content would be.
export function failed(el, err) {
  el = typeof el === "string" ? $(el) : el;
  el.hidden = false;
  for (const table of document.querySelectorAll("main .scroll")) if (!table.querySelector("tbody tr")) table.hidden = true;
  fill(el, h("div", { class: "empty", role: "alert" }, h("h2", {}, "This could not be read"), h("p", {}, line(err.message, 500)),
    h("button", { type: "button", onclick: () => location.reload() }, "Try again")));
}

export { session };
