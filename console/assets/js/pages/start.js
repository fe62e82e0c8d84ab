import { $, copier, line, fill } from "../dom.js";
import { call, get } from "../api.js";
import { ready, rememberProject, page, link } from "../shell.js";
import { snippets } from "../snippets.js";
import { ago } from "../format.js";

await ready({ needsProject: false });
if (!page.admin) {
  $("problem").textContent = "Only the admin token can make projects.";
  $("problem").hidden = false;
  $("new").querySelector("button").disabled = true;
}
$("new").addEventListener("submit", async (e) => {
  e.preventDefault();
  const button = $("new").querySelector("button");
  button.disabled = true;
  $("problem").hidden = true;
  try {
    made(await call("/projects", { method: "POST", body: { name: $("name").value } }));
  } catch (err) {
    $("problem").textContent = err.message;
    $("problem").hidden = false;
    button.disabled = false;
  }
});

function made(p) {
  $("create").hidden = true;
  $("made").hidden = false;
  fill("made-name", line(p.name));
  $("made-id").textContent = p.project_id;
  $("made-key").textContent = p.api_key;
  $("made-secret").textContent = p.webhook_secret;
  for (const b of document.querySelectorAll("[data-copy-from]")) copier(b, () => $(b.dataset.copyFrom).textContent);
  rememberProject(p.project_id, p.name);
  snippets({ key: p.api_key, secret: p.webhook_secret });
  $("go").href = link("/events");
  $("secrets").scrollIntoView({ block: "nearest" });
  watch(p.project_id);
}

// watch waits for the first event and then says so.
async function watch(id) {
  for (;;) {
    const first = await get("/events", { project_id: id, limit: 1 }).catch(() => null);
    if (first?.data.length) {
      const e = first.data[0];
      $("receiving").dataset.state = "receiving";
      $("receiving-title").textContent = "Receiving";
      fill("receiving-note", `The first event is here: ${e.type}, ${ago(e.received_at)}.`);
      $("go").hidden = false;
      return;
    }
    await new Promise((done) => setTimeout(done, document.hidden ? 5000 : 1000));
  }
}
