// A small picture of some counts, for lists.
import { shape } from "./dom.js";

export function spark(values) {
  const w = 126, height = 22, n = Math.max(values.length, 1), most = Math.max(...values, 1);
  const svg = shape("svg", { class: "spark", viewBox: `0 0 ${w} ${height}`, role: "img", "aria-label": `${values.reduce((a, b) => a + b, 0)} in 24 hours, ${Math.max(...values, 0)} in the busiest` });
  const step = w / n;
  values.forEach((v, i) => {
    const tall = v ? Math.max(2, (v / most) * (height - 2)) : 1;
    svg.append(shape("rect", { x: (i * step + 0.5).toFixed(2), y: (height - tall).toFixed(2), width: (step - 1.2).toFixed(2), height: tall.toFixed(2), rx: 0.8, fill: "currentColor", opacity: v ? 1 : 0.28 }));
  });
  return svg;
}
