// The console in a real browser: each page's main path, hostile events on every page, axe, the
// policy, the weight of the pages. Run by console_test.go, which gives the environment.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import assert from "node:assert/strict";

const { WEIR_URL: base, WEIR_LINK: link, WEIR_TOKEN: token, WEIR_HOSTILE: hostile, WEIR_CHROMIUM: executablePath, WEIR_MODULES: modules, WEIR_CONSOLE_SHOTS: shots } = process.env;
const require = createRequire(path.join(modules, "none.js"));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({
  executablePath, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
let failures = 0;
const began = Date.now();
const wrong = []; // what a page must never say, gathered over a step

// WEIR_STEPS is a pattern of steps to run, for working on one of them.
const chosen = new RegExp(process.env.WEIR_STEPS || "");

async function step(name, run) {
  if (!chosen.test(name)) return;
  const from = Date.now();
  wrong.length = 0;
  try {
    await run();
    assert.deepEqual(wrong, [], "pages complained");
    console.log(`ok   ${name} (${Date.now() - from} ms)`);
  } catch (err) {
    failures++;
    console.log(`FAIL ${name} (${Date.now() - from} ms)\n     ${String(err.message).split("\n").slice(0, 14).join("\n     ")}`);
  }
}

// open makes a browser of its own: width, theme, and a page whose complaints are gathered.
async function open({ width = 1280, theme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: width > 500 ? 900 : 844 }, colorScheme: theme, reducedMotion: "reduce" });
  context.setDefaultTimeout(15000); // a guard against hanging; nothing is timed with it
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await context.addInitScript(() => {
    window.shifts = 0;
    addEventListener("securitypolicyviolation", (e) => console.error(`POLICY ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
    new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) window.shifts += e.value; }).observe({ type: "layout-shift", buffered: true });
  });
  const page = await context.newPage();
  page.on("pageerror", (err) => wrong.push(`${page.url()}: ${err.message}`));
  page.on("dialog", (d) => { wrong.push(`${page.url()}: a dialog said ${d.message()}`); d.dismiss(); });
  page.on("console", (m) => { if (m.type() === "error" && !/status of 40[34]/.test(m.text())) wrong.push(`${page.url()}: ${m.text()}`); });
  page.on("request", (r) => { if (!r.url().startsWith(base) && !r.url().startsWith("blob:") && !r.url().startsWith("data:")) wrong.push(`${page.url()} asked ${r.url()}`); });
  return page;
}

async function signIn(page) {
  await page.goto(base + "/signin");
  await page.fill("#token", token);
  await page.click("button[type=submit]");
  await page.waitForURL((u) => !u.pathname.startsWith("/signin"));
}

// settled: the page's module has run and none of its requests is under way.
const settled = (page) => page.waitForFunction(() => document.readyState === "complete" && document.documentElement.dataset.asked === "0", null, { polling: 30 });
const text = (page, selector) => page.locator(selector).first().innerText();

// look checks what holds for every page at every width.
async function look(page, name, { rules = "all" } = {}) {
  assert.equal(await page.evaluate(() => window.pwned), undefined, "a customer's text ran as script");
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${name} is wider than the window`);
  if (shots) await page.screenshot({ path: path.join(shots, `${name}.png`), fullPage: !/hostile/.test(name) });
  if (!rules) return;
  await page.evaluate(axe);
  const runOnly = rules === "contrast" ? { type: "rule", values: ["color-contrast"] } : { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] };
  const found = await page.evaluate(async (runOnly) => (await window.axe.run(document, { resultTypes: ["violations"], runOnly })).violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message || "")).join(" | ")}`), runOnly);
  assert.deepEqual(found.filter((f) => /^(serious|critical)/.test(f)), [], `axe on ${name}`);
}

const desk = await open();

await step("a sign-in link signs in, once", async () => {
  await desk.goto(link);
  await desk.waitForURL((u) => u.pathname === "/");
  assert.ok(!desk.url().includes("link="), "the link's code stays in the address");
  const [cookie] = (await desk.context().cookies()).filter((c) => c.name === "__Host-weir");
  assert.ok(cookie.secure && cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
});

await step("first visit: a project, its key once, four programs that work, receiving by itself", async () => {
  await desk.goto(base + "/start");
  await desk.fill("#name", "shop of the test");
  await desk.click("#new button");
  await desk.waitForSelector("#made:not([hidden])");
  const key = await text(desk, "#made-key");
  assert.match(key, /^weir_/);
  assert.equal(await desk.getAttribute("#receiving", "data-state"), "waiting");
  await look(desk, "start");
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "weir-snippets-"));
  const programs = { "curl.sh": ["bash", []], "main.go": ["go", ["run"]], "send.ts": ["node", []], "send.py": ["python3", []] };
  const ran = [];
  for (const [name, [program, args]] of Object.entries(programs)) {
    // TypeScript runs where it stands in newer versions of Node only; the program has no syntax that is not JavaScript too.
    const file = path.join(dir, name === "send.ts" ? "send.mjs" : name);
    fs.writeFileSync(file, await desk.locator(`[data-snippet="${name}"]`).textContent());
    try { execFileSync("which", [program]); } catch { console.log(`     left out: ${name}, there is no ${program} here`); continue; }
    const out = execFileSync(program, [...args, file], { encoding: "utf8", timeout: 60000 });
    assert.match(out, /"accepted":1/, `${name} printed ${out}`);
    ran.push(name);
    if (ran.length === 1) await desk.waitForSelector('#receiving[data-state="receiving"]');
  }
  fs.rmSync(dir, { recursive: true });
  // The last program's event may not be folded yet when the list is opened: it is there by itself soon after.
  await desk.click("#go");
  await desk.waitForFunction((n) => document.querySelectorAll("#rows tr").length === n, ran.length).catch(async () => {
    throw new Error(`${desk.url()} shows ${JSON.stringify(await desk.locator("#rows tr").allTextContents())}, and ${ran} were run`);
  });
  await desk.goto(base + "/start");
  assert.ok(!(await desk.content()).includes(key), "the key is shown again");
});

// The demo project is the one whose name is demo.
const demo = await (async () => {
  const list = await desk.evaluate(async () => (await fetch("/console/api/projects")).json());
  return list.data.find((p) => p.name === "demo").project_id;
})();
const newProject = (name) => desk.evaluate(async (name) => (await fetch("/console/api/projects", { method: "POST", headers: { "Content-Type": "application/json", "X-Weir-Console": "1" }, body: JSON.stringify({ name }) })).json(), name);
const at = (where, project = demo) => base + where + (where.includes("?") ? "&" : "?") + "project=" + project;

await step("overview: types, projections, errors, and the brush leads to events", async () => {
  await desk.goto(at("/"));
  await desk.waitForSelector("#chart .u-over");
  await settled(desk);
  assert.match(await text(desk, "#f-events"), /\d/);
  assert.ok(await desk.locator("#lag .badge").count() >= 4);
  assert.ok(await desk.locator("#errors a").count() >= 3);
  const box = await desk.locator("#chart .u-over").boundingBox();
  await desk.mouse.move(box.x + box.width * 0.3, box.y + 50);
  await desk.mouse.down();
  await desk.mouse.move(box.x + box.width * 0.6, box.y + 50, { steps: 4 });
  await desk.mouse.up();
  await desk.waitForURL((u) => u.pathname === "/events" && u.searchParams.get("from") && u.searchParams.get("to"));
});

await step("events: types, text, fields in the address; a row opens; a name filters; keys", async () => {
  await desk.goto(at("/events"));
  await desk.waitForSelector("#rows tr");
  await desk.click('[data-type="log"]');
  await desk.waitForURL((u) => u.searchParams.get("type") === "log");
  await desk.waitForSelector("#head th:has-text('message')");
  await desk.fill("#where", "level=error");
  await desk.press("#where", "Enter");
  await desk.waitForURL((u) => u.searchParams.get("where") === "level=error");
  await desk.waitForFunction(() => [...document.querySelectorAll("#rows .lv")].length && [...document.querySelectorAll("#rows .lv")].every((e) => e.textContent === "error"));
  await desk.keyboard.press("Escape");
  await desk.evaluate(() => document.activeElement.blur());
  await desk.keyboard.press("j");
  await desk.keyboard.press("Enter");
  await desk.waitForSelector("tr.detail .json");
  await desk.locator("tr.detail button.key", { hasText: "module" }).click();
  await desk.waitForURL((u) => u.searchParams.getAll("where").length === 2);
  await desk.evaluate(() => document.activeElement.blur());
  await desk.keyboard.press("/");
  assert.equal(await desk.evaluate(() => document.activeElement.id), "q");
  await desk.goto(at("/events?q=no-such-text-anywhere"));
  await desk.waitForSelector("#empty:not([hidden])");
  await desk.goto(at("/events?type=config"));
  await desk.locator("#rows tr").first().click();
  await desk.waitForSelector(".diff .add");
  await look(desk, "events-config");
  await desk.goto(at("/events?type=audit"));
  await desk.locator("#rows tr").first().click();
  await desk.waitForSelector(".sentence");
  await desk.evaluate(() => document.activeElement.blur());
  await desk.keyboard.press("g");
  await desk.keyboard.press("r");
  await desk.waitForURL((u) => u.pathname === "/errors");
});

await step("events: the live tail shows what arrives, pauses, goes on", async () => {
  const made = await newProject("live");
  const send = (message) => sendOne(made, message);
  await desk.goto(at("/events", made.project_id));
  await desk.waitForSelector("#empty:not([hidden])");
  await desk.click("#tail");
  await desk.waitForSelector('#tail[aria-pressed="true"]');
  await desk.waitForTimeout(300);
  await send("first of the tail");
  await desk.waitForSelector("#rows tr:has-text('first of the tail')");
  await desk.click("#tail");
  await send("while it was paused");
  await desk.waitForSelector("#tail:has-text('1 new')");
  await desk.click("#tail");
  await desk.waitForSelector("#rows tr:has-text('while it was paused')");
});

async function sendOne({ api_key, webhook_secret }, message) {
  const { createHmac } = await import("node:crypto");
  const body = JSON.stringify({ events: [{ type: "log", ts: new Date().toISOString(), data: { level: "info", message } }] });
  const answer = await fetch(base + "/api/ingest", { method: "POST", body, headers: { Authorization: `Bearer ${api_key}`, "Content-Type": "application/json", "X-Service-Signature": createHmac("sha256", webhook_secret).update(body).digest("hex") } });
  assert.equal(answer.status, 200);
}

await step("a trace is a waterfall", async () => {
  await desk.goto(at("/events?type=trace&q=checkout"));
  await desk.locator("#rows tr").first().click();
  await desk.click("tr.detail a:has-text('Trace')");
  await desk.waitForSelector(".span .track i");
  assert.ok(await desk.locator(".span").count() >= 3);
  await look(desk, "trace");
});

await step("errors: list, detail, why, status", async () => {
  await desk.goto(at("/errors?sort=count"));
  await desk.waitForSelector("#rows tr .spark");
  await desk.locator("#rows .title").first().click();
  await desk.waitForSelector("#stack .frames li.app");
  assert.match(await text(desk, "#why"), /\w+/);
  await settled(desk);
  await look(desk, "error");
  await desk.click('[data-to="resolved"]');
  await desk.click("dialog button[value=yes]");
  await desk.waitForSelector(".toast");
  if (!(await text(desk, ".toast")).includes("cannot")) await desk.waitForSelector("#state:has-text('resolved')");
});

await step("costs, performance, webhooks, projections, projects, keys", async () => {
  await desk.goto(at("/costs"));
  await desk.waitForSelector("#rows tr");
  assert.match(await text(desk, "#f-now"), /\d\.\d\d EUR/);
  const [download] = await Promise.all([desk.waitForEvent("download"), desk.click("#csv")]);
  assert.match(fs.readFileSync(await download.path(), "utf8"), /^service,currency/);
  await desk.click('[data-by="region"]');
  await desk.waitForSelector("#rows tr:has-text('eu-central-1')");
  await desk.goto(at("/performance"));
  await desk.waitForSelector(".metrics .u-over");
  assert.ok(await desk.locator(".metrics .card").count() >= 3);
  await desk.goto(at("/webhooks"));
  await desk.locator("#deliveries tbody tr").first().click();
  await desk.waitForSelector("dialog:has-text('Attempt 1')");
  await desk.keyboard.press("Escape");
  await desk.goto(at("/projections"));
  await desk.waitForSelector("#p-history .badge");
  await desk.goto(at("/projects"));
  await desk.locator("#rows a").first().click();
  await desk.fill("#key-name", "reader of the test");
  await desk.check('input[value="read"]');
  await desk.click("#new-key button");
  await desk.waitForSelector("#made-key:not([hidden])");
  assert.match(await text(desk, "#key-text"), /^weir_/);
  await desk.click("tr:has-text('reader of the test') button");
  await desk.click("dialog button[value=yes]");
  await desk.waitForSelector("tr:has-text('reader of the test') .badge.bad");
  await desk.fill("#l-events", "2500");
  await desk.click("#limits button");
  await desk.waitForSelector(".toast:has-text('Limits saved')");
});

await step("webhooks: an endpoint is made, tested, rotated; its delivery is shown and sent again", async () => {
  const http = await import("node:http");
  const got = [];
  const receiver = http.createServer((request, response) => {
    request.resume().on("end", () => { got.push(request.headers); response.end("thanks <script>window.pwned=1</script>"); });
  });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  try {
    await desk.goto(at("/webhooks", (await newProject("hooks")).project_id));
    await desk.waitForSelector("#endpoints-empty:not([hidden])");
    await desk.click("#add");
    await desk.fill("#e-url", `http://127.0.0.1:${receiver.address().port}/hook`);
    await desk.click("dialog button[value=yes]");
    await desk.waitForSelector("dialog:has-text('whsec_')");
    await desk.keyboard.press("Escape");
    await desk.click("#endpoints button:has-text('Test')");
    await desk.waitForSelector(".toast:has-text('on its way')");
    const row = "#deliveries tbody tr:has-text('webhook.test')";
    await desk.waitForSelector(`${row}:has-text('succeeded')`);
    assert.ok(got[0]["webhook-signature"].startsWith("v1,"), JSON.stringify(got[0]));
    await desk.locator(row).first().click();
    await desk.waitForSelector("dialog:has-text('Attempt 1')");
    await look(desk, "webhooks-delivery");
    await desk.click("dialog button:has-text('Redeliver')");
    await desk.waitForSelector(".toast:has-text('Sent again')");
    await desk.click("#endpoints button:has-text('Rotate')");
    await look(desk, "webhooks-rotate");
    await desk.click("dialog button[value=yes]");
    await desk.waitForSelector("dialog:has-text('two signatures')");
    await desk.keyboard.press("Escape");
    await desk.waitForSelector("#endpoints tr:has-text('two secrets sign until')");
    await desk.keyboard.press("Escape");
    await desk.click("#add");
    await desk.selectOption("#e-kind", "internal"); // has no URL
    await desk.click("dialog button[value=yes]");
    await desk.waitForSelector("dialog:has-text('secret')");
    await desk.keyboard.press("Escape");
    await desk.waitForSelector("#endpoints tr:has-text('internal')");
    await look(desk, "webhooks-internal");
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
});

await step("projections: verified equal; rebuilt with its progress; swapped", async () => {
  await desk.goto(at("/projections"));
  await desk.click("#p-costs button:has-text('Verify')");
  await desk.waitForSelector("#p-costs .badge:has-text('equal to the log')", { timeout: 30000 });
  await desk.click("#p-costs button:has-text('Rebuild')");
  await desk.click("dialog button[value=yes]");
  await desk.waitForSelector("#p-costs .kept:has-text('generation 1')", { timeout: 45000 }).catch(async () => {
    throw new Error(`no second generation: ${await text(desk, "#p-costs")}`);
  });
  await look(desk, "projections-rebuilt");
});

const pages = { overview: "/", events: "/events", errors: "/errors", costs: "/costs", performance: "/performance", webhooks: "/webhooks", projections: "/projections", projects: "/projects", project: `/projects/${demo}`, start: "/start" };

for (const [width, theme] of [[1280, "light"], [1280, "dark"], [390, "light"], ...(shots ? [[390, "dark"]] : [])]) {
  await step(`every page at ${width} px, ${theme}: axe, width, weight, no jumps`, async () => {
    const page = await open({ width, theme });
    await page.goto(base + "/signin");
    await look(page, `signin-${width}-${theme}`);
    await signIn(page);
    for (const [name, where] of Object.entries(pages)) {
      const session = await page.context().newCDPSession(page);
      await session.send("Network.enable");
      await session.send("Network.setCacheDisabled", { cacheDisabled: width === 1280 && theme === "light" });
      let weight = 0;
      session.on("Network.loadingFinished", (e) => { weight += e.encodedDataLength; });
      await page.goto(at(where));
      await settled(page);
      await page.waitForTimeout(50);
      await look(page, `${name}-${width}-${theme}`, { rules: theme === "dark" ? "contrast" : width === 1280 || /overview|events|project/.test(name) ? "all" : null });
      const { load, shifts } = await page.evaluate(() => ({ load: Math.round(performance.getEntriesByType("navigation")[0].loadEventEnd), shifts: window.shifts }));
      assert.ok(weight < 200 * 1024, `${name} weighs ${weight} bytes`);
      assert.ok(shifts < 0.1, `${name} jumps: ${shifts}`);
      if (width === 1280 && theme === "light") console.log(`     ${name}: ${(weight / 1024).toFixed(0)} KB cold, loaded in ${load} ms, layout shift ${shifts.toFixed(3)}`);
      await session.detach();
    }
    await page.context().close();
  });
}

await step("hostile events on every page are only text", async () => {
  for (const width of [1280, 390]) {
    const page = await open({ width });
    await signIn(page);
    const every = { ...pages, project: `/projects/${hostile}`, trace: "/trace/hostile", nothing: "/trace/%3Cscript%3Ewindow.pwned=1%3C%2Fscript%3E", odd: "/errors/%22%3E%3Cscript%3E" };
    for (const [name, where] of Object.entries(every)) {
      await page.goto(at(where, hostile));
      await settled(page);
      await look(page, `hostile-${name}-${width}`, { rules: width === 1280 && /^(overview|events|errors|trace)$/.test(name) ? "all" : null });
    }
    await page.goto(at("/errors", hostile));
    await page.waitForSelector("#rows a.title");
    const groups = await page.locator("#rows a.title").evaluateAll((all) => all.map((a) => a.href));
    for (const href of groups.slice(0, width === 1280 ? 4 : 2)) {
      await page.goto(href);
      await settled(page);
      await look(page, `hostile-group-${width}`, { rules: null });
    }
    await page.goto(at("/events", hostile));
    await page.waitForSelector("#rows tr");
    const rows = page.locator("#rows tr[data-open]");
    for (let i = 0; i < Math.min(await rows.count(), width === 1280 ? 30 : 8); i++) await rows.nth(i).evaluate((tr) => tr.click());
    await page.waitForSelector("tr.detail button:has-text('show all')");
    await page.locator("tr.detail button:has-text('show all')").first().click();
    await page.waitForFunction(() => document.querySelector("tr.detail").textContent.length > 1e6);
    await look(page, `hostile-open-${width}`, { rules: null });
    assert.ok(await page.locator("script:not([src])").count() === 0, "a script came from an event");
    await page.goto(at("/events?type=log", hostile));
    await page.waitForSelector("#rows .cc");
    assert.ok((await page.locator("#rows .cc").allInnerTexts()).includes("NUL"), "a NUL is not made visible");
    assert.ok((await page.locator("#rows .cc").allInnerTexts()).includes("U+202E"), "an override is not made visible");
    await page.context().close();
  }
});

await step("a key sees its own project only; signing out ends it", async () => {
  const page = await open();
  const made = await newProject("walled");
  await page.goto(base + "/signin?next=/events");
  await page.fill("#token", made.api_key);
  await page.click("button[type=submit]");
  await page.waitForURL((u) => u.pathname === "/events");
  await page.waitForSelector("#empty:not([hidden])");
  assert.equal(await page.evaluate(async (id) => (await fetch(`/console/api/events?project_id=${id}`)).status, demo), 404);
  await page.click("[data-signout]");
  await page.waitForURL((u) => u.pathname === "/signin");
  assert.equal(await page.evaluate(async () => (await fetch("/console/api/events")).status), 401);
  wrong.length = 0; // the 401 just asked for
  await page.context().close();
});

await browser.close();
console.log(`${failures ? `${failures} steps failed` : "all steps passed"} in ${((Date.now() - began) / 1000).toFixed(1)} s`);
process.exit(failures ? 1 : 0);
