// A small WebGL2 renderer: meshes whose vertices move, lines, and a camera that orbits. All its data are in the page.
"use strict";

const VERTEX = `#version 300 es
layout(location=0) in vec3 here;
layout(location=1) in vec3 after;
layout(location=2) in vec3 colour;
layout(location=3) in float shadeHere;
layout(location=4) in float shadeAfter;
uniform mat4 view, lens;
uniform vec3 low, size, shift;
uniform float between, flatten, floorAt;
uniform vec3 sun;
out vec3 place, tint;
out float shade, known;
void main() {
  shade = (mix(shadeHere, shadeAfter, between) * 255.0 - 1.0) / 254.0;
  known = min(shadeHere, shadeAfter) > 0.0 ? 1.0 : 0.0;
  vec3 at = low + size * mix(here, after, between) + shift;
  // A shadow: the body, pressed along the sun's rays onto the ground.
  if (flatten > 0.5) at -= sun * ((at.y - floorAt) / sun.y);
  vec4 seen = view * vec4(at, 1.0);
  place = seen.xyz;
  tint = colour;
  gl_Position = lens * seen;
}`;

// Normals come from the slope of the surface on the screen, so none are stored.
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 place, tint;
in float shade, known;
uniform vec4 ink;
uniform float lit, own, heat;
out vec4 shown;
// Colours of 0 to 1: dark blue, green, yellow.
const vec3 MAP[5] = vec3[5](vec3(0.267, 0.004, 0.329), vec3(0.231, 0.322, 0.545), vec3(0.129, 0.569, 0.549), vec3(0.369, 0.788, 0.384), vec3(0.992, 0.906, 0.145));
vec3 scale(float part) {
  float at = clamp(part, 0.0, 1.0) * 4.0;
  int low = int(min(at, 3.0));
  return mix(MAP[low], MAP[low + 1], at - float(low));
}
void main() {
  vec3 n = normalize(cross(dFdx(place), dFdy(place)));
  // Less shadow on the colours of a scale, so that they can be compared.
  float shadow = mix(0.58, 0.25, heat);
  float light = mix(1.0, 1.0 - shadow + shadow * abs(dot(n, normalize(vec3(0.3, 0.5, 0.8)))), lit);
  vec3 field = known > 0.99 ? scale(shade) : vec3(0.59);
  shown = vec4(mix(mix(ink.rgb, tint, own), field, heat) * light, ink.a);
}`;

// The ground: a plane with lines at round distances, which fades out, so that it has no edge and fights with no line.
const GROUND_VERTEX = `#version 300 es
layout(location=0) in vec3 corner;
uniform mat4 view, lens;
out vec2 spot;
void main() { spot = corner.xz; gl_Position = lens * view * vec4(corner, 1.0); }`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 spot;
uniform vec2 middle;
uniform float step, radius;
uniform vec3 ink, sheen;
out vec4 shown;
void main() {
  vec2 cell = spot / step, wide = fwidth(cell) * 1.2;
  vec2 line = 1.0 - smoothstep(vec2(0.0), wide, abs(fract(cell - 0.5) - 0.5));
  // Lines closer than some pixels melt into their mean.
  vec2 faint = clamp(0.35 / max(wide, vec2(1e-6)), 0.0, 1.0);
  float grid = max(line.x * faint.x, line.y * faint.y) * 0.35;
  float near = 1.0 - smoothstep(0.35 * radius, radius, distance(spot, middle));
  shown = vec4(mix(sheen, ink, grid), near);
}`;

const SUNS = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [0.7, 0.7], [-0.7, 0.7], [0.7, -0.7], [-0.7, -0.7]];
const INKS = { start: [0.85, 0.39, 0.17], fit: [0.12, 0.37, 0.66], truth: [0.17, 0.54, 0.34] };

function bytesOf(text) {
  return Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
}

function viewer(canvas, scene) {
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, stencil: true, preserveDrawingBuffer: true });
  if (!gl) return null;
  const at = program(gl), bounds = boundsOf(scene.bodies);
  const eye = { yaw: 0.6, pitch: 0.35, far: 1, aim: [0, 0, 0] };
  const faces = new Uint32Array(bytesOf(scene.faces));
  const bodies = scene.bodies.map(body => upload(gl, body, faces));
  const ground = makeGround(gl, bounds, scene.ground), labels = document.getElementById("labels");
  const axisLines = [0, 1, 2].map(k => lines(gl, axisLine(bounds, scene.ground, k)));
  const frusta = scene.cameras.map(camera => lines(gl, frustum(camera, bounds)));
  const state = { apart: false, frusta: false, own: false, shown: Object.fromEntries(bodies.map(b => [b.name, true])), time: 0, field: "" };
  let waiting = false;

  function home() {
    eye.aim = bounds.middle.slice();
    eye.far = 1.1 * bounds.radius;
    if (scene.cameras.length) {
      const back = scene.cameras[0].rotation[2];
      // The eye stands beside the first camera, so that its frustum does not fill the view.
      eye.yaw = Math.atan2(back[0], back[2]) + 0.55;
      eye.pitch = Math.asin(Math.max(-1, Math.min(1, back[1]))) + 0.15;
    }
    redraw();
  }

  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    gl.viewport(0, 0, width, height);
    const style = getComputedStyle(canvas);
    gl.clearColor(...rgb(style.backgroundColor), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.useProgram(at.program);
    const on = bodies.filter(body => state.shown[body.name]);
    const wide = state.apart ? 1.1 * (bounds.high[0] - bounds.low[0]) * (on.length - 1) : 0;
    const far = eye.far + 0.8 * wide;
    gl.uniformMatrix4fv(at.lens, false, lens(width / height, 0.02 * far, 60 * far));
    gl.uniformMatrix4fv(at.view, false, viewMatrix(eye, far));
    const apart = body => state.apart && on.length > 1 ? wide * (on.indexOf(body) / (on.length - 1) - 0.5) : 0;
    if (eye.pitch > 0) {  // from below, the ground would hide the bodies
      drawGround(gl, ground, lens(width / height, 0.02 * far, 60 * far), viewMatrix(eye, far), style, bounds, wide);
      gl.useProgram(at.program);
      drawShadows(on, apart);
    }
    axisLines.forEach((one, k) => drawLines(one, [...AXES[k], 1]));
    if (state.frusta) frusta.forEach(one => drawLines(one, [...rgb(style.color), 0.8]));
    // Solid bodies first, then transparent ones: the fit is solid, the other bodies are drawn over it.
    const order = [...on].sort((a, b) => solid(b) - solid(a));
    for (const body of order) {
      drawBody(body, apart(body), state.apart || solid(body) || on.length === 1 ? 1 : 0.4);
    }
    if (labels) placeLabels(on, apart, lens(width / height, 0.02 * far, 60 * far), viewMatrix(eye, far));
  }

  // Soft shadows: one pass for each part of the sun; the stencil keeps a pass from darkening a pixel twice.
  function drawShadows(on, apart) {
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.STENCIL_TEST);
    gl.uniform1f(at.flatten, 1);
    gl.uniform1f(at.floorAt, scene.ground);
    for (const [x, z] of SUNS) {
      gl.clear(gl.STENCIL_BUFFER_BIT);
      gl.stencilFunc(gl.EQUAL, 0, 255);
      gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      gl.uniform3f(at.sun, 0.5 + 0.12 * x, 1, -0.3 + 0.12 * z);
      for (const body of on) drawBody(body, apart(body), 0.045, true);
    }
    gl.uniform1f(at.flatten, 0);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.DEPTH_TEST);
  }

  function placeLabels(on, apart, lensMatrix, view) {
    const wanted = on.map(body => ({ text: body.name, kind: "body", at: topOf(body, momentOf(body.times, state.time), apart(body)) }));
    wanted.push(...["x", "y", "z"].map((text, k) => ({ text, kind: "axis", at: axisLine(bounds, scene.ground, k)[1] })));
    while (labels.children.length < wanted.length) labels.append(document.createElement("span"));
    // Labels of bodies at one place stand above each other.
    let stacked = 0;
    [...labels.children].forEach((span, k) => {
      const one = wanted[k];
      span.hidden = !one;
      if (!one) return;
      const seen = project(lensMatrix, view, one.at);
      span.textContent = one.text;
      span.className = one.kind;
      span.style.color = one.kind === "body" ? `rgb(${(INKS[one.text] || INKS.fit).map(v => Math.round(255 * v))})` : "";
      const up = one.kind === "body" && !state.apart ? 1.35 * stacked++ : 0;
      span.style.left = `${50 + 50 * seen[0]}%`;
      span.style.top = `calc(${50 - 50 * seen[1]}% - ${up + 0.3}em)`;
      span.hidden = seen[2] <= 0 || Math.abs(seen[0]) > 1 || Math.abs(seen[1]) > 1;
    });
  }

  function solid(body) { return body.name === "fit" ? 1 : 0; }

  function drawBody(body, shift, alpha, shadow = false) {
    const [k, next, part] = momentOf(body.times, state.time);
    gl.bindVertexArray(body.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, body.vertices);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 6, 6 * body.count * k);
    gl.vertexAttribPointer(1, 3, gl.UNSIGNED_SHORT, true, 6, 6 * body.count * next);
    gl.uniform3fv(at.low, body.low);
    gl.uniform3fv(at.size, body.size);
    gl.uniform3f(at.shift, shift, 0, 0);
    gl.uniform1f(at.between, part);
    gl.uniform1f(at.lit, shadow ? 0 : 1);
    // A transparent body keeps its colour: strain and stress are shown on solid bodies.
    const shades = alpha === 1 && !shadow ? body.shades[state.field] : undefined;
    for (const [slot, frame] of [[3, k], [4, next]]) {
      if (!shades) { gl.disableVertexAttribArray(slot); continue; }
      gl.bindBuffer(gl.ARRAY_BUFFER, shades);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, 1, gl.UNSIGNED_BYTE, true, 1, body.count * frame);
    }
    gl.uniform1f(at.heat, shades ? 1 : 0);
    gl.uniform1f(at.own, !shadow && state.own && alpha === 1 && body.colours ? 1 : 0);
    gl.uniform4f(at.ink, ...(shadow ? [0, 0, 0] : INKS[body.name] || INKS.fit), alpha);
    // Where bodies coincide the solid one is shown: transparent ones lie a little behind.
    if (alpha < 1) gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 4);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(alpha === 1);
    gl.drawElements(gl.TRIANGLES, faces.length, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  function drawLines(one, ink) {
    gl.bindVertexArray(one.array);
    gl.uniform3f(at.low, 0, 0, 0);
    gl.uniform3f(at.size, 1, 1, 1);
    gl.uniform3f(at.shift, 0, 0, 0);
    gl.uniform1f(at.between, 0);
    gl.uniform1f(at.lit, 0);
    gl.uniform1f(at.own, 0);
    gl.uniform1f(at.heat, 0);
    gl.uniform4f(at.ink, ...ink);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.drawArrays(gl.LINES, 0, one.count);
  }

  function act(what) {
    if (what === "left" || what === "right") eye.yaw += what === "left" ? -0.35 : 0.35;
    else eye.far *= what === "near" ? 0.8 : 1.25;
    redraw();
  }

  handle(canvas, eye, home, redraw);
  new ResizeObserver(redraw).observe(canvas);
  home();
  return { state, eye, redraw, home, act, names: bodies.map(b => b.name), at(time) { state.time = time; redraw(); } };
}

function link(gl, vertex, fragment, names) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  return { program: made, ...Object.fromEntries(names.map(name => [name, gl.getUniformLocation(made, name)])) };
}

function program(gl) {
  const names = ["view", "lens", "low", "size", "shift", "between", "lit", "own", "heat", "ink", "flatten", "floorAt", "sun"];
  return link(gl, VERTEX, FRAGMENT, names);
}

// All frames of a body lie in one buffer; two of them and their weights are chosen when drawing.
function upload(gl, body, faces) {
  const array = gl.createVertexArray(), vertices = gl.createBuffer();
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
  const places = new Uint16Array(bytesOf(body.vertices));
  gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.enableVertexAttribArray(1);
  if (body.colours) {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, bytesOf(body.colours), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(2);
    gl.vertexAttribPointer(2, 3, gl.UNSIGNED_BYTE, true, 3, 0);
  }
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
  const shades = {};
  for (const [name, text] of Object.entries(body.fields)) {
    shades[name] = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, shades[name]);
    gl.bufferData(gl.ARRAY_BUFFER, bytesOf(text), gl.STATIC_DRAW);
  }
  return { ...body, array, vertices, shades, places };
}

function lines(gl, points) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points.flat()), gl.STATIC_DRAW);
  for (const place of [0, 1]) {
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 12, 0);
  }
  return { array, count: points.length };
}

function boundsOf(bodies) {
  const low = [0, 1, 2].map(k => Math.min(...bodies.map(b => b.low[k])));
  const high = [0, 1, 2].map(k => Math.max(...bodies.map(b => b.low[k] + b.size[k])));
  const middle = low.map((v, k) => 0.5 * (v + high[k]));
  return { low, high, middle, radius: Math.max(1e-6, Math.hypot(...low.map((v, k) => high[k] - v))) };
}

function makeGround(gl, bounds, height) {
  const far = 6 * bounds.radius, [x, , z] = bounds.middle;
  const corners = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]].map(([a, b]) => [x + far * a, height, z + far * b]);
  const names = ["view", "lens", "middle", "step", "radius", "ink", "sheen"];
  return { ...link(gl, GROUND_VERTEX, GROUND_FRAGMENT, names), ...lines(gl, corners) };
}

function drawGround(gl, ground, lensMatrix, view, style, bounds, wide) {
  const ink = rgb(style.color), back = rgb(style.backgroundColor);
  gl.useProgram(ground.program);
  gl.bindVertexArray(ground.array);
  gl.uniformMatrix4fv(ground.lens, false, lensMatrix);
  gl.uniformMatrix4fv(ground.view, false, view);
  gl.uniform2f(ground.middle, bounds.middle[0], bounds.middle[2]);
  gl.uniform1f(ground.radius, 2.2 * bounds.radius + wide);
  gl.uniform1f(ground.step, Math.pow(10, Math.floor(Math.log10(bounds.radius))) / (bounds.radius > 3 ? 1 : 2));
  gl.uniform3f(ground.ink, ...ink);
  gl.uniform3f(ground.sheen, ...back.map((v, k) => 0.88 * v + 0.12 * ink[k]));
  gl.disable(gl.DEPTH_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.drawArrays(gl.TRIANGLES, 0, ground.count);
  gl.enable(gl.DEPTH_TEST);
}

const AXES = [[0.8, 0.25, 0.2], [0.2, 0.6, 0.3], [0.25, 0.45, 0.85]];
// Axes of x, y, z begin at a corner of the ground, a fifth of the scene long.
function axisLine(bounds, height, k) {
  const from = [bounds.low[0], height, bounds.low[2]], to = from.slice();
  to[k] += 0.2 * bounds.radius;
  return [from, to];
}

// The frames before and after a moment, and its part of the way between them.
function momentOf(times, time) {
  let k = 0;
  while (k + 2 < times.length && times[k + 1] <= time) k++;
  const next = Math.min(k + 1, times.length - 1), span = times[next] - times[k];
  return [k, next, span > 0 ? Math.max(0, Math.min(1, (time - times[k]) / span)) : 0];
}

// The place of a body's label: above its middle.
function topOf(body, [k, next, part], shift) {
  const every = Math.max(1, Math.floor(body.count / 200)), sum = [0, 0, 0];
  let high = -Infinity, count = 0;
  for (let n = 0; n < body.count; n += every, count++) {
    for (let c = 0; c < 3; c++) {
      const a = body.places[3 * (k * body.count + n) + c], b = body.places[3 * (next * body.count + n) + c];
      const v = body.low[c] + body.size[c] * (a + part * (b - a)) / 65535;
      sum[c] += v;
      if (c === 1) high = Math.max(high, v);
    }
  }
  return [sum[0] / count + shift, high, sum[2] / count];
}

function project(lensMatrix, view, point) {
  const apply = (m, v) => [0, 1, 2, 3].map(r => m[r] * v[0] + m[4 + r] * v[1] + m[8 + r] * v[2] + m[12 + r] * v[3]);
  const [x, y, , w] = apply(lensMatrix, apply(view, [...point, 1]));
  return [x / w, y / w, w];
}

function frustum(camera, bounds) {
  const [right, up, back] = camera.rotation, deep = 0.18 * bounds.radius;
  const corner = (x, y) => camera.eye.map((v, k) => v + deep * (camera.wide * x * right[k] + camera.tall * y * up[k] - back[k]));
  const corners = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], found = [];
  corners.forEach((one, k) => found.push(camera.eye, one, one, corners[(k + 1) % 4]));
  found.push(corner(-0.3, 1.1), corner(0.3, 1.1), corner(0.3, 1.1), corner(0, 1.45), corner(0, 1.45), corner(-0.3, 1.1));
  return found;
}

function lens(aspect, near, far) {
  const f = 1 / Math.tan(0.4), d = 1 / (near - far);
  // A narrow window has the horizontal field of view of a square one.
  const g = aspect < 1 ? f * aspect : f;
  return [g / aspect, 0, 0, 0, 0, g, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0];
}

function axes(eye) {
  const [cy, sy, cp, sp] = [Math.cos(eye.yaw), Math.sin(eye.yaw), Math.cos(eye.pitch), Math.sin(eye.pitch)];
  return [[cy, 0, -sy], [-sp * sy, cp, -sp * cy], [cp * sy, sp, cp * cy]];
}

function viewMatrix(eye, far) {
  const [r, u, b] = axes(eye), dot = v => v.reduce((s, x, k) => s + x * eye.aim[k], 0);
  return [r[0], u[0], b[0], 0, r[1], u[1], b[1], 0, r[2], u[2], b[2], 0, -dot(r), -dot(u), -dot(b) - far, 1];
}

function rgb(text) {
  const found = text.match(/[\d.]+/g) || [0, 0, 0];
  return found.slice(0, 3).map(v => Number(v) / 255);
}

// Drag rotates, shift or two fingers move, the wheel or a pinch zooms; arrows, + and - do so by keyboard.
function handle(canvas, eye, home, redraw) {
  const down = new Map();
  const turn = (x, y) => { eye.yaw -= x; eye.pitch = Math.max(-1.55, Math.min(1.55, eye.pitch + y)); redraw(); };
  const nearer = factor => { eye.far = Math.max(1e-6, eye.far * factor); redraw(); };
  const move = (x, y) => {
    const [r, u] = axes(eye), scale = eye.far / canvas.clientHeight;
    eye.aim = eye.aim.map((v, k) => v - scale * (x * r[k] - y * u[k]));
    redraw();
  };
  const apart = () => { const [a, b] = [...down.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  canvas.addEventListener("pointerdown", e => { canvas.setPointerCapture(e.pointerId); down.set(e.pointerId, { x: e.clientX, y: e.clientY }); });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, e => down.delete(e.pointerId));
  canvas.addEventListener("pointermove", e => {
    const last = down.get(e.pointerId);
    if (!last) return;
    const [x, y] = [e.clientX - last.x, e.clientY - last.y], before = down.size === 2 ? apart() : 0;
    down.set(e.pointerId, { x: e.clientX, y: e.clientY });
    if (down.size === 2) { nearer(before / Math.max(1, apart())); move(0.5 * x, 0.5 * y); }
    else if (e.shiftKey) move(x, y);
    else turn(0.008 * x, 0.008 * y);
  });
  canvas.addEventListener("wheel", e => { e.preventDefault(); nearer(Math.exp(0.001 * e.deltaY)); }, { passive: false });
  canvas.addEventListener("dblclick", home);
  const keys = {
    ArrowLeft: () => turn(0.1, 0), ArrowRight: () => turn(-0.1, 0), ArrowUp: () => turn(0, 0.1),
    ArrowDown: () => turn(0, -0.1), "+": () => nearer(0.9), "-": () => nearer(1.1), Home: home,
  };
  canvas.addEventListener("keydown", e => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } });
}
