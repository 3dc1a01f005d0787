// Videos of the page, and the scrubber that moves them and the 3D view together.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const page = { time: data.first, playing: false, mode: "side by side", ready: false };
window.diffloom = page;

const MODES = {
  "side by side": { start: "start", fit: "fit" },
  difference: { start: "|start − target| × 10", fit: "|fit − target| × 10" },
  overlay: { start: "target red, start cyan", fit: "target red, fit cyan" },
};

function loaded(source) {
  return new Promise((done, failed) => {
    const image = new Image();
    image.onload = () => done(image);
    image.onerror = failed;
    image.src = source;
  });
}

// Pixels of one frame, cut from the sheet of all frames.
function frame(view, name, index) {
  const scratch = view.scratch, columns = view.columns;
  scratch.clearRect(0, 0, view.width, view.height);
  const x = (index % columns) * view.width, y = Math.floor(index / columns) * view.height;
  scratch.drawImage(view.sheets[name], x, y, view.width, view.height, 0, 0, view.width, view.height);
  return scratch.getImageData(0, 0, view.width, view.height);
}

function mixed(mode, target, other) {
  const a = target.data, b = other.data;
  for (let k = 0; k < b.length; k += 4) {
    if (mode === "difference") {
      for (let c = 0; c < 3; c++) b[k + c] = Math.min(255, 10 * Math.abs(a[k + c] - b[k + c]));
    } else {
      const cyan = (b[k] + b[k + 1] + b[k + 2]) / 3;
      b[k] = (a[k] + a[k + 1] + a[k + 2]) / 3;
      b[k + 1] = b[k + 2] = cyan;
    }
  }
  return other;
}

function nearest(times, time) {
  let best = 0;
  times.forEach((t, k) => { if (Math.abs(t - time) < Math.abs(times[best] - time)) best = k; });
  return best;
}

function show(view) {
  const index = nearest(view.times, page.time);
  if (view.index === index && view.mode === page.mode) return;
  [view.index, view.mode] = [index, page.mode];
  const target = view.sheets.target ? frame(view, "target", index) : null;
  for (const [name, canvas] of Object.entries(view.canvases)) {
    let pixels = name === "target" ? target : frame(view, name, index);
    if (name !== "target" && target && page.mode !== "side by side") pixels = mixed(page.mode, target, pixels);
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    const caption = canvas.parentElement.querySelector("figcaption");
    const said = target ? MODES[page.mode][name] || name : name;
    caption.textContent = `${said}, ${(view.times[index] - view.offset).toFixed(data.digits)} s`;
  }
}

async function prepare(view) {
  view.sheets = {};
  view.canvases = {};
  const scratch = document.createElement("canvas");
  [scratch.width, scratch.height] = [view.width, view.height];
  view.scratch = scratch.getContext("2d", { willReadFrequently: true });
  for (const [name, source] of Object.entries(view.panels)) {
    view.sheets[name] = await loaded(source);
    view.canvases[name] = document.querySelector(`[data-view="${view.number}"] canvas[data-panel="${name}"]`);
  }
}

function moveTo(time) {
  page.time = Math.max(data.first, Math.min(data.last, time));
  for (const slider of document.querySelectorAll(".scrub input")) slider.value = page.time;
  for (const text of document.querySelectorAll(".scrub output")) text.textContent = `${page.time.toFixed(data.digits)} s`;
  data.views.forEach(show);
  if (page.viewer) page.viewer.at(page.time);
}
page.moveTo = moveTo;

function play(on) {
  page.playing = on;
  for (const button of document.querySelectorAll(".scrub button")) {
    button.textContent = on ? "❚❚" : "▶";
    button.setAttribute("aria-label", on ? "pause" : "play");
  }
  let last = null;
  const tick = now => {
    if (!page.playing) return;
    if (last !== null) {
      const next = page.time + (now - last) / 1000;
      moveTo(next > data.last ? data.first : next);
    }
    last = now;
    requestAnimationFrame(tick);
  };
  if (on) requestAnimationFrame(tick);
}

function choose(group, act) {
  for (const input of document.querySelectorAll(`input[name="${group}"]`)) input.addEventListener("change", () => act(input));
}

function start3d() {
  const canvas = document.getElementById("solid");
  if (!canvas || !data.scene) return;
  page.viewer = viewer(canvas, data.scene);
  document.getElementById("no-webgl").hidden = page.viewer !== null;
  if (!page.viewer) return;
  choose("body", input => { page.viewer.state.shown[input.value] = input.checked; page.viewer.redraw(); });
  choose("layout", input => { page.viewer.state.apart = input.value === "apart"; page.viewer.redraw(); });
  choose("frusta", input => { page.viewer.state.frusta = input.checked; page.viewer.redraw(); });
  choose("colour", input => {
    const scale = document.getElementById("scale"), text = data.scene.fields[input.value];
    page.viewer.state.field = input.value;
    scale.hidden = !text;
    scale.querySelector("span").textContent = text || "";
    page.viewer.redraw();
  });
  document.getElementById("home").addEventListener("click", page.viewer.home);
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  if (page.viewer) page.viewer.redraw();
}

document.getElementById("theme").addEventListener("click", theme);
document.getElementById("copy").addEventListener("click", async e => {
  await navigator.clipboard.writeText(document.getElementById("cite").textContent);
  e.target.textContent = "copied";
});
for (const slider of document.querySelectorAll(".scrub input")) slider.addEventListener("input", () => { play(false); moveTo(Number(slider.value)); });
for (const button of document.querySelectorAll(".scrub button")) button.addEventListener("click", () => play(!page.playing));
choose("mode", input => { page.mode = input.value; moveTo(page.time); });

Promise.all(data.views.map(prepare)).then(() => {
  start3d();
  moveTo(data.first);
  page.ready = true;
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
});
