// Videos of the page, and the scrubber that moves them and the 3D view together.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const page = { time: data.first, playing: false, mode: "side by side", ready: false };
window.diffloom = page;

const MODES = {
  "side by side": { start: "start", fit: "fit" },
  residual: { start: "start − target", fit: "fit − target" },
  overlay: { start: "target red, start cyan", fit: "target red, fit cyan" },
};
// Colours of a residual of 0 to its scale: black, violet, red, orange, pale yellow.
const HEAT = [[0, 0, 4], [87, 16, 110], [188, 55, 84], [249, 142, 9], [252, 255, 164]];

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

function heat(part) {
  const at = Math.max(0, Math.min(1, part)) * 4, low = Math.min(3, Math.floor(at)), f = at - low;
  return HEAT[low].map((v, c) => v + f * (HEAT[low + 1][c] - v));
}

// A residual's colour goes by the largest difference of the three channels; page.most is the end of the scale.
function mixed(mode, target, other) {
  const a = target.data, b = other.data;
  for (let k = 0; k < b.length; k += 4) {
    if (mode === "residual") {
      let most = 0;
      for (let c = 0; c < 3; c++) most = Math.max(most, Math.abs(a[k + c] - b[k + c]));
      heat(most / page.most).forEach((v, c) => { b[k + c] = v; });
    } else {
      const cyan = (b[k] + b[k + 1] + b[k + 2]) / 3;
      b[k] = (a[k] + a[k + 1] + a[k + 2]) / 3;
      b[k + 1] = b[k + 2] = cyan;
    }
  }
  return other;
}

// The end of the scale of residuals: the largest of the fit in any frame, but a tenth of the brightness at least.
function scaleOf(views) {
  let most = 25.5;
  for (const view of views) {
    if (!view.sheets.target) continue;
    for (let n = 0; n < view.times.length; n += Math.max(1, Math.floor(view.times.length / 12))) {
      const a = frame(view, "target", n).data, b = frame(view, "fit", n).data;
      for (let k = 0; k < a.length; k++) if (k % 4 !== 3) most = Math.max(most, Math.abs(a[k] - b[k]));
    }
  }
  return most;
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
    page.viewer.state.field = text ? input.value : "";
    page.viewer.state.own = input.value === "own";
    scale.hidden = !text;
    scale.querySelector("span").textContent = text || "";
    page.viewer.redraw();
  });
  document.getElementById("home").addEventListener("click", page.viewer.home);
  for (const button of document.querySelectorAll(".pad [data-do]")) button.addEventListener("click", () => page.viewer.act(button.dataset.do));
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  if (page.viewer) page.viewer.redraw();
}

document.getElementById("theme").addEventListener("click", theme);
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "copied";
  });
}
document.getElementById("copy").addEventListener("click", async e => {
  await navigator.clipboard.writeText(document.getElementById("cite").textContent);
  e.target.textContent = "copied";
});
for (const slider of document.querySelectorAll(".scrub input")) slider.addEventListener("input", () => { play(false); moveTo(Number(slider.value)); });
for (const button of document.querySelectorAll(".scrub button")) button.addEventListener("click", () => play(!page.playing));
choose("mode", input => {
  page.mode = input.value;
  document.getElementById("residual-scale").hidden = page.mode !== "residual";
  moveTo(page.time);
});
choose("guess", input => document.querySelector(".motion").classList.toggle("three", input.checked));

Promise.all(data.views.map(prepare)).then(() => {
  page.most = scaleOf(data.views);
  document.querySelector("#residual-scale span").textContent = `${(page.most / 2.55).toFixed(0)} % of full brightness`;
  start3d();
  moveTo(data.first);
  page.ready = true;
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
});
