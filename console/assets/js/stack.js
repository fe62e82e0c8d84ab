// A stack for reading: the frames of the application stand out, runs of library frames fold.
import { h, line, block, asText, toJSON } from "./dom.js";

// stack shows an occurrence's stack as parsed, or as it was sent.
export function stack(o, raw, explanation) {
  if (o.stack === null || o.stack === undefined || o.stack === "") return h("p", { class: "muted" }, "This occurrence was sent without a stack. With one, grouping is by the code that failed instead of by the message.");
  const text = typeof o.stack === "string" ? o.stack : toJSON(o.stack, 2);
  const frames = Array.isArray(o.stack) ? listed(o.stack) : null;
  if (raw) return h("pre", { class: "json", tabindex: "0" }, block(text, 20000));
  if (frames) return render([{ title: o.name, frames }]);
  const explained = explanation?.exceptions?.filter((e) => e.frames?.length);
  if (explained?.length && sameStack(text, explained)) return render(explained.map((e) => ({ title: e.type || o.name, relation: e.relation, more: e.more_frames, frames: e.frames.map((f) => ({ ...f, app: f.in_app })) })));
  return h("pre", { class: "json", tabindex: "0" }, block(text, 8000));
}

// sameStack: the explanation is of the latest occurrence; it fits another one if its functions are there too.
function sameStack(text, exceptions) {
  return exceptions.every((e) => e.frames.slice(0, 3).every((f) => !f.function || text.includes(f.function.split(/[.:#/]/).at(-1))));
}

function listed(frames) {
  const out = frames.filter((f) => f && typeof f === "object").map((f) => ({ function: asText(f.function ?? f.method ?? f.name), file: asText(f.file ?? f.filename ?? f.abs_path), line: f.line ?? f.lineno, app: f.in_app ?? f.inApp ?? !/node_modules|site-packages|vendor\//.test(asText(f.file ?? f.filename)) }));
  return out.length ? out.slice(0, 2000) : null;
}

function render(exceptions) {
  return exceptions.map((e) => [
    h("p", { class: "exception" }, e.relation && h("span", { class: "muted" }, e.relation === "cause" || e.relation === "caused_by" ? "caused by " : `${e.relation} `.slice(0, 40)), line(e.title, 160)),
    h("ol", { class: "frames" }, folded(e.frames), e.more > 0 && h("li", { class: "lib" }, `… ${e.more} more frames`)),
  ]);
}

// folded keeps frames in their order; three library frames or more in a row become one line to open.
function folded(frames) {
  const out = [];
  for (let i = 0; i < frames.length;) {
    let end = i;
    while (end < frames.length && !frames[end].app) end++;
    if (end - i >= 3) {
      const inside = frames.slice(i, end);
      const li = h("li", { class: "fold" }, h("button", { type: "button", class: "link", onclick: () => li.replaceWith(...inside.map(frame)) }, `${inside.length} library frames`));
      out.push(li);
      i = end;
    } else {
      out.push(frame(frames[i++]));
    }
  }
  return out;
}

function frame(f) {
  const place = [f.file, f.line].filter((v) => v !== undefined && v !== null && v !== "" && v !== 0).map(asText).join(":");
  return h("li", { class: f.app ? "app" : "lib" }, line(f.function || "?", 200), place && h("span", { class: "at" }, "  ", line(place, 240)));
}
