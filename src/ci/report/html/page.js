"use strict";
// Zoom and hover. Without this script everything is shown at its full length.

const WIDTH = 1e6;
const HEIGHT = 1e4;
const MINUTES = [30, 60, 120, 300, 600, 1800, 3600, 7200, 21600];
const SVG = "http://www.w3.org/2000/svg";

function roundStep(least) {
  if (!(least > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * ten >= least) ?? 10) * ten;
}

/** A round distance between lines, at most so many in the span. */
function stepOfTime(span, most = 7) {
  const minutes = MINUTES.find((step) => span / step <= most);
  return span > 120 && minutes ? minutes : roundStep(span / most);
}

function time(at, step) {
  if (step >= 30 && at >= 0) {
    const pad = (number) => String(Math.floor(number)).padStart(2, "0");
    const hours = Math.floor(at / 3600);
    const rest = `${hours ? pad((at / 60) % 60) : Math.floor(at / 60)}:${pad(Math.round(at) % 60)}`;
    return hours ? `${hours}:${rest}` : rest;
  }
  const places = Math.min(12, Math.max(0, Math.ceil(-Math.log10(step * 1.001))));
  return `${at.toFixed(places)} s`;
}

function svg(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

/** The places of the marks of a path, ascending, with their heights if they have any. */
function marks(path) {
  if (!path.marks) {
    const found = path.getAttribute("d").matchAll(/[ML](\d+) (\d+)/g);
    path.marks = Array.from(found, ([, x, y]) => ({ x: Number(x), y: Number(y) }));
    path.marks.sort((a, b) => a.x - b.x);
  }
  return path.marks;
}

function nearest(view, x, y, reach) {
  let best = null;
  for (const path of view.querySelectorAll("path:not(.place)")) {
    const all = marks(path);
    let low = 0;
    let high = all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (all[middle].x < x - reach) low = middle + 1;
      else high = middle;
    }
    for (; low < all.length && all[low].x <= x + reach; low++) {
      const mark = all[low];
      const isTall = view.dataset.scale && !path.matches(".missed");
      const far = Math.hypot((mark.x - x) / reach, isTall ? (mark.y - y) / HEIGHT / 0.1 : 0);
      if (!best || far < best.far) best = { ...mark, far, path, isTall };
    }
  }
  return best;
}

function value(view, y) {
  const low = Number(view.dataset.low);
  const high = Number(view.dataset.high);
  const part = 1 - y / HEIGHT;
  const at = view.dataset.scale === "log" ? low * (high / low) ** part : low + (high - low) * part;
  return `${Number(at.toPrecision(4))}${view.dataset.unit}`;
}

/** All plots within an element show the same part of the log: from and to, as parts of the whole. */
function setUp(over) {
  const span = Number(over.dataset.span);
  const seconds = (part) => Number(over.dataset.start) + part * span;
  const views = [...over.querySelectorAll(".view")];
  const grids = [...over.querySelectorAll(".grid")];
  const controls = over.querySelector(".zoom");
  let from = 0;
  let to = 1;

  function draw() {
    const width = views[0].getBoundingClientRect().width;
    const step = stepOfTime(span * (to - from), Math.min(7, Math.max(3, Math.floor(width / 80))));
    for (const view of views) {
      const height = view.getAttribute("viewBox").split(" ")[3];
      view.setAttribute("viewBox", `${from * WIDTH} 0 ${(to - from) * WIDTH} ${height}`);
    }
    for (const grid of grids) {
      const parts = [];
      for (let number = Math.ceil(seconds(from) / step); number * step <= seconds(to) && parts.length < 24; number++) {
        const part = (number * step - seconds(from)) / (span * (to - from));
        const x = `${part * 100}%`;
        // The text at the right edge stands before its line.
        const edge = part > 0.95 ? { dx: -4, "text-anchor": "end" } : { dx: 4 };
        parts.push(svg("line", { x1: x, x2: x, y1: "0", y2: "100%" }));
        parts.push(svg("text", { x, y: "100%", dy: -5, ...edge }, time(number * step, step)));
      }
      grid.replaceChildren(...parts);
    }
    if (controls) {
      const fine = step / 10;
      const isAll = from === 0 && to === 1;
      controls.querySelector(".range").textContent = isAll ? "" : `${time(seconds(from), fine)} – ${time(seconds(to), fine)}`;
      for (const button of controls.querySelectorAll("button")) button.disabled = isAll && button.dataset.zoom !== "in";
    }
  }

  function show(start, end) {
    const least = Math.max(1e-5, 2 / WIDTH);
    const length = Math.min(1, Math.max(least, end - start));
    from = Math.min(1 - length, Math.max(0, (start + end - length) / 2));
    to = from + length;
    draw();
  }

  function zoom(factor, at = (from + to) / 2) {
    show(at - (at - from) * factor, at + (to - at) * factor);
  }

  for (const button of controls?.querySelectorAll("button") ?? []) {
    const does = { in: () => zoom(0.5), out: () => zoom(2), all: () => show(0, 1) };
    button.addEventListener("click", does[button.dataset.zoom]);
  }
  for (const plot of over.querySelectorAll(".plot")) {
    hover(plot, { part: () => [from, to], span, seconds, show, zoom });
  }
  if (span > 0 && views.length) {
    over.classList.add("zooming");
    for (const hidden of over.querySelectorAll(".zoom, .script")) hidden.hidden = false;
    draw();
    // A narrower plot has room for fewer times.
    new ResizeObserver(draw).observe(views[0]);
  }
}

function hover(plot, { part, span, seconds, show, zoom }) {
  const cursor = plot.querySelector(".cursor");
  const selection = plot.querySelector(".selection");
  const tip = plot.querySelector(".tip");
  const view = plot.querySelector(".view");
  let start = null;

  const within = (event) => {
    const area = view.getBoundingClientRect();
    const edge = plot.getBoundingClientRect().left + plot.clientLeft;
    const x = Math.min(area.right, Math.max(area.left, event.clientX));
    return { x: (x - area.left) / area.width, left: x - edge, width: area.width };
  };
  const at = (x) => part()[0] + x * (part()[1] - part()[0]);
  const leave = () => {
    for (const element of [cursor, selection, tip]) element.hidden = true;
    start = null;
  };

  function point(event) {
    const place = within(event);
    cursor.hidden = false;
    cursor.style.left = `${place.left}px`;
    const [from, to] = part();
    const row = event.target.closest?.(".row, .plot:not(.lanes)");
    const under = row?.querySelector(".view");
    let words = time(seconds(at(place.x)), stepOfTime(span * (to - from)) / 10);
    if (under) {
      const area = under.getBoundingClientRect();
      const y = (event.clientY - area.top) / area.height * HEIGHT;
      const reach = (8 / place.width) * (to - from) * WIDTH;
      const mark = nearest(under, at(place.x) * WIDTH, y, reach);
      if (mark) {
        const name = mark.path.dataset.name ?? under.dataset.name ?? "";
        const number = mark.isTall ? `: ${value(under, mark.y)}` : "";
        words = `${name}${number} at ${seconds(mark.x / WIDTH).toFixed(3)} s`;
      }
    }
    tip.textContent = words;
    tip.hidden = false;
    const plotArea = plot.getBoundingClientRect();
    const left = place.left + 12 + tip.offsetWidth < plot.clientWidth ? place.left + 12 : place.left - 12 - tip.offsetWidth;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.min(plot.clientHeight - tip.offsetHeight - 4, Math.max(4, event.clientY - plotArea.top - 34))}px`;
    if (start) {
      selection.hidden = false;
      selection.style.left = `${Math.min(start.left, place.left)}px`;
      selection.style.width = `${Math.abs(start.left - place.left)}px`;
    }
  }

  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerleave", () => start || leave());
  plot.addEventListener("pointercancel", leave);
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !(span > 0)) return;
    start = within(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointerup", (event) => {
    const end = within(event);
    const moved = start && Math.abs(start.left - end.left) > 6;
    const [a, b] = moved ? [at(start.x), at(end.x)] : [];
    leave();
    if (moved) show(Math.min(a, b), Math.max(a, b));
  });
  plot.addEventListener("dblclick", () => show(0, 1));
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, at(within(event).x));
  }, { passive: false });
  plot.addEventListener("keydown", (event) => {
    const [from, to] = part();
    const move = (to - from) / 4;
    const does = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(0, 1),
      ArrowLeft: () => show(from - move, to - move), ArrowRight: () => show(from + move, to + move),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  });
}

function filter(label) {
  const input = label.querySelector("input");
  const rows = [...document.querySelectorAll(".runs tbody tr")];
  label.hidden = rows.length < 2;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(words);
  });
}

/** Plots in a part that is folded are set up when it is opened. */
for (const over of document.querySelectorAll("[data-span]")) {
  const folded = over.closest("details.run:not([open])");
  if (folded) folded.addEventListener("toggle", () => setUp(over), { once: true });
  else setUp(over);
}
document.querySelectorAll(".filter").forEach(filter);
