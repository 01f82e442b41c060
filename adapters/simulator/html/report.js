"use strict";
/* The charts of a report of uvmsim. Everything is drawn from the JSON in the element `data`. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("charts");
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"];
  const planes = [ // painted in this order
    { key: "prefetched", name: "prefetched or requested", color: [0, 158, 115] },
    { key: "faulted", name: "faulted", color: [0, 114, 178], onDark: [86, 180, 233] },
    { key: "evicted", name: "evicted", color: [213, 94, 0] },
  ];
  const hidden = new Set();
  const most = 8; // runs in one chart of distributions
  let charts = [];
  let theme;

  const colorOf = (plane) => (theme.isDark && plane.onDark) || plane.color;

  /* -- text -- */
  function scaled(value, units, step) {
    let i = 0;
    while (value >= step && i + 1 < units.length) { value /= step; i++; }
    return (value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3)) + units[i];
  }
  const asTime = (ns) => scaled(ns, [" ns", " µs", " ms", " s"], 1000);
  const asBytes = (bytes) => scaled(bytes, [" B", " KiB", " MiB", " GiB", " TiB"], 1024);
  const asCount = (count) => scaled(count, ["", " k", " M", " G"], 1000);
  const asBinary = (count) => scaled(count, ["", " Ki", " Mi", " Gi"], 1024);
  const asRatio = (ratio) => ratio.toFixed(2) + " ×";
  const asClock = (clock) => (clock === "ns" ? asTime : (n) => asCount(n));
  const policyName = (entry) => entry.given.replace(/^preset=/, "");
  const memoryName = (entry) => entry.oversub_percent ? entry.oversub_percent + " %" : asBytes(entry.run.memory_bytes);
  const different = (list) => new Set(list).size > 1;

  /* What tells a run from the others. */
  function namer(entries) {
    const many = {
      workload: different(entries.map((e) => e.run.workload)),
      memory: different(entries.map(memoryName)),
      seed: different(entries.map((e) => e.run.seed)),
    };
    return (e) => [policyName(e)].concat(many.workload ? e.run.workload.split(/[:,]/)[0] : [],
      many.memory ? memoryName(e) : [], many.seed ? "seed " + e.run.seed : [],
      e.run.draw ? "draw " + e.run.draw : [], e.run.complete ? [] : "not complete").join(", ");
  }

  /* -- sections -- */
  function element(tag, parent, text, className) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (className) made.className = className;
    parent.appendChild(made);
    return made;
  }
  function section(title, note, isWide) {
    const made = element("section", main, "", isWide ? "wide" : "");
    element("h2", made, title);
    if (note) element("p", made, note, "note");
    return made;
  }
  /* Of bytes, ticks are powers of two up to `top`. */
  function axis(title, format, isStacked, top) {
    return {
      stacked: Boolean(isStacked), title: { display: Boolean(title), text: title }, beginAtZero: true,
      ticks: !format ? {} : !top ? { callback: (value) => format(value) }
        : { callback: (value) => format(value), stepSize: Math.pow(2, Math.ceil(Math.log2(top / 5))) },
    };
  }
  function chart(parent, type, labels, sets, options, bars) {
    const box = element("div", parent, "", "chart");
    if (options.indexAxis === "y") box.style.height = Math.max(10, 5 + 2 * bars) + "rem";
    charts.push(new Chart(element("canvas", box), {
      type, data: { labels, datasets: sets }, plugins: [whiskers],
      options: Object.assign({ animation: false, maintainAspectRatio: false, responsive: true }, options),
    }));
  }
  function tips(format) {
    return { callbacks: { label: (item) => item.dataset.label + ": " + format(item.raw.y !== undefined ? item.raw.y : item.raw) } };
  }

  /* Least and most of a bar, as a line through its end. */
  const whiskers = {
    id: "whiskers",
    afterDatasetsDraw(made) {
      made.data.datasets.forEach((set, i) => {
        if (!set.spread || !made.isDatasetVisible(i)) return;
        made.getDatasetMeta(i).data.forEach((bar, k) => {
          if (!set.spread[k]) return;
          const [low, high] = set.spread[k].map((v) => made.scales.y.getPixelForValue(v));
          if (Math.abs(low - high) < 1) return;
          const ctx = made.ctx;
          ctx.save();
          ctx.strokeStyle = theme.text;
          ctx.lineWidth = 1.5;
          ctx.beginPath();
          ctx.moveTo(bar.x, low); ctx.lineTo(bar.x, high);
          ctx.moveTo(bar.x - 4, low); ctx.lineTo(bar.x + 4, low);
          ctx.moveTo(bar.x - 4, high); ctx.lineTo(bar.x + 4, high);
          ctx.stroke();
          ctx.restore();
        });
      });
    },
  };

  /* -- speed-ups -- */
  function median(values) {
    const sorted = values.slice().sort((a, b) => a - b);
    return sorted[(sorted.length - 1) >> 1];
  }
  function groupBy(list, key) {
    const groups = new Map();
    for (const item of list) {
      const name = key(item);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(item);
    }
    return groups;
  }
  function drawSpeedups() {
    const policies = [...new Set(data.runs.map(policyName))];
    if (policies.length < 2) return;
    const hasTime = data.runs.every((e) => e.run.time_ns !== null);
    const cost = (e) => (hasTime ? e.run.time_ns : e.run.far_faults);
    const hasWorkloads = different(data.runs.map((e) => e.run.workload));
    const hasSizes = different(data.runs.map(memoryName));
    const groups = groupBy(data.runs, (e) => (hasWorkloads ? e.run.workload.split(/[:,]/)[0] : "") +
      (hasSizes ? (hasWorkloads ? ", " : "") + memoryName(e) : "") || e.run.workload.split(/[:,]/)[0]);
    const base = policies[0];
    const labels = [...groups.keys()];
    let missing = 0;
    const sets = policies.map((policy, index) => {
      const middle = [], spread = [];
      for (const entries of groups.values()) {
        const of = (name) => new Map(entries.filter((e) => policyName(e) === name && e.run.complete && cost(e) > 0)
          .map((e) => [e.run.workload + " " + e.run.seed + " " + e.run.draw, cost(e)]));
        const bases = of(base), own = of(policy);
        const ratios = [...own].filter(([key]) => bases.has(key)).map(([key, value]) => bases.get(key) / value);
        if (ratios.length === 0) missing++;
        middle.push(ratios.length ? median(ratios) : null);
        spread.push(ratios.length > 1 ? [Math.min(...ratios), Math.max(...ratios)] : null);
      }
      const known = middle.filter((v) => v !== null);
      if (labels.length > 1) {
        middle.push(known.length === labels.length ? Math.exp(known.reduce((sum, v) => sum + Math.log(v), 0) / known.length) : null);
        spread.push(null);
      }
      return { label: policy, data: middle, spread, backgroundColor: palette[index % palette.length] };
    });
    const values = sets.flatMap((set) => set.data).filter((v) => v), isWide = Math.max(...values) > 8 * Math.min(...values);
    const hasSpread = sets.some((s) => s.spread.some((v) => v));
    const names = labels.length > 1 ? labels.concat("geometric mean") : labels;
    const where = section(hasTime ? "Speed-up over " + base : "Far faults of " + base + " for each of this policy",
      (hasTime ? "Time of " + base + " divided by the time of the policy." : "More is better. Without --gpu there is no time.") +
      (hasSpread ? " Bars: median of the seeds or draws; lines: least to most." : "") +
      (isWide ? " Logarithmic." : "") +
      (missing ? " Runs that did not complete have no bar, and their policy no geometric mean." : ""), true);
    chart(where, "bar", names, sets, { scales: { x: axis(""), y: Object.assign(axis("", asRatio), isWide ? { type: "logarithmic", ticks: { callback: (v) => (/^[125]$/.test((v / Math.pow(10, Math.floor(Math.log10(v) + 1e-9))).toFixed(3).replace(".000", "")) ? asRatio(v) : "") } } : {}) }, plugins: { tooltip: tips(asRatio) } });
  }

  /* -- heat maps -- */
  function cells(pictures, key) {
    const list = pictures[key], count = new Float64Array(pictures.rows * pictures.columns);
    for (let i = 0, at = 0; i < list.length; i += 2) { at += list[i]; count[at] = list[i + 1]; }
    return count;
  }
  /* Counts of a coarser grid, for canvases with fewer pixels than the grid has cells. */
  function shrink(count, p, rows, columns) {
    if (rows === p.rows && columns === p.columns) return count;
    const small = new Float64Array(rows * columns);
    for (let row = 0; row < p.rows; row++)
      for (let column = 0; column < p.columns; column++)
        small[Math.floor(row * rows / p.rows) * columns + Math.floor(column * columns / p.columns)] += count[row * p.columns + column];
    return small;
  }
  function paint(p, width, height) {
    const columns = Math.min(p.columns, width), rows = Math.min(p.rows, height);
    const image = document.createElement("canvas"), shown = planes.filter((plane) => !hidden.has(plane.key));
    image.width = columns; image.height = rows;
    const ctx = image.getContext("2d"), pixels = ctx.createImageData(columns, rows);
    for (const plane of shown) {
      const count = shrink(cells(p, plane.key), p, rows, columns);
      let peak = 0;
      for (const value of count) peak = Math.max(peak, value);
      for (let i = 0; i < count.length; i++) {
        if (count[i] === 0) continue;
        const at = 4 * ((rows - 1 - Math.floor(i / columns)) * columns + i % columns); // page 0 is at the bottom
        const alpha = 0.45 + 0.55 * Math.sqrt(count[i] / peak), below = pixels.data[at + 3] / 255;
        const all = alpha + below * (1 - alpha);
        for (let k = 0; k < 3; k++)
          pixels.data[at + k] = (colorOf(plane)[k] * alpha + pixels.data[at + k] * below * (1 - alpha)) / all;
        pixels.data[at + 3] = 255 * all;
      }
    }
    ctx.putImageData(pixels, 0, 0);
    return image;
  }
  function niceStep(range, parts) {
    const raw = range / parts, power = Math.pow(10, Math.floor(Math.log10(raw)));
    return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= raw);
  }
  function paintAxes(ctx, p, box, format, label) {
    const pages = p.rows * p.row_pages, time = p.columns * p.column_width;
    ctx.strokeStyle = theme.line;
    ctx.fillStyle = theme.faint;
    ctx.font = "12px system-ui, sans-serif";
    ctx.strokeRect(box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1);
    ctx.textAlign = "right"; ctx.textBaseline = "middle";
    for (let page = 0, step = niceStep(pages, 5); page <= pages; page += step)
      ctx.fillText(asCount(page), box.x - 6, Math.max(box.y + 6, box.y + box.height * (1 - page / pages)));
    ctx.textAlign = "center"; ctx.textBaseline = "top";
    for (let at = 0, step = niceStep(time, box.width > 500 ? 8 : 4); at <= time; at += step)
      ctx.fillText(format(at), Math.min(box.x + box.width * at / time, box.x + box.width - 18), box.y + box.height + 6);
    ctx.fillText(label, box.x + box.width / 2, box.y + box.height + 22);
    ctx.save();
    ctx.translate(10, box.y + box.height / 2); ctx.rotate(-Math.PI / 2);
    ctx.textBaseline = "middle";
    ctx.fillText("page", 0, 0);
    ctx.restore();
  }
  function drawHeat(title, p) {
    const format = asClock(p.clock), where = section(title,
      "One cell: " + asCount(p.row_pages) + " page" + (p.row_pages > 1 ? "s" : "") + " by " +
      (p.clock === "ns" ? asTime(p.column_width) : asCount(p.column_width) + " faults") +
      (p.row_pages > 1 || p.column_width > 1 ? "; finer detail of the " + asCount(p.events) + " events was merged into these cells." : ".") +
      " Pages in the order " + (data.log ? "in which the log names their blocks" : "of their allocation") + "; the stronger the colour, the more of them.", true);
    const keys = element("div", where, "", "keys"), box = element("div", where, "", "heat"), at = element("p", where, "", "at note");
    const canvas = element("canvas", box), counts = planes.map((plane) => cells(p, plane.key));
    let frame;
    function redraw() {
      const ratio = window.devicePixelRatio || 1, width = box.clientWidth, height = width > 500 ? 340 : 260;
      const ctx = canvas.getContext("2d");
      frame = { x: 58, y: 6, width: width - 64, height: height - 46 };
      canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
      ctx.scale(ratio, ratio);
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(paint(p, Math.floor(frame.width / 2), Math.floor(frame.height / 2)), frame.x, frame.y, frame.width, frame.height);
      paintAxes(ctx, p, frame, format, data.log ? "clock of the log" : p.clock === "ns" ? "time" : "faults fetched so far");
    }
    for (const plane of planes) {
      const label = element("label", keys), input = element("input", label);
      input.type = "checkbox"; input.checked = !hidden.has(plane.key);
      input.addEventListener("change", () => { if (input.checked) hidden.delete(plane.key); else hidden.add(plane.key); redraw(); });
      element("i", label).style.background = "rgb(" + colorOf(plane) + ")";
      element("span", label, plane.name);
    }
    canvas.addEventListener("pointermove", (event) => {
      const column = Math.floor((event.offsetX - frame.x) / frame.width * p.columns);
      const row = p.rows - 1 - Math.floor((event.offsetY - frame.y) / frame.height * p.rows);
      if (column < 0 || column >= p.columns || row < 0 || row >= p.rows) return;
      at.textContent = "pages " + row * p.row_pages + " to " + ((row + 1) * p.row_pages - 1) + ", from " + format(column * p.column_width) + ": " +
        planes.map((plane, i) => plane.name + " " + counts[i][row * p.columns + column]).join(", ");
    });
    redraw();
    charts.push({ destroy() {}, resize: redraw });
  }

  /* -- bars of the runs -- */
  const beyond = " It moves every page that is accessed: policies that access memory of the CPU across the link can move less, and those with a memory_ratio above 100.";
  function stack(title, note, entries, name, parts, format, isWide) {
    const used = parts.filter((part) => entries.some((e) => part.value(e) > 0));
    if (used.length === 0) return;
    const where = section(title, note, isWide);
    const top = format === asBytes ? Math.max(...entries.map((e) => used.reduce((sum, part) => sum + part.value(e), 0))) : 0;
    chart(where, "bar", entries.map(name), used.map((part, i) => ({
      label: part.name, data: entries.map(part.value), backgroundColor: palette[i % palette.length],
    })), {
      indexAxis: "y", scales: { x: axis("", format, true, top), y: Object.assign(axis("", null, true), { ticks: { autoSkip: false } }) },
      plugins: { tooltip: { callbacks: { label: (item) => item.dataset.label + ": " + format(item.raw) } } },
    }, entries.length);
  }
  function drawTimes(entries, name) {
    const timed = entries.filter((e) => e.run.time_ns !== null);
    if (timed.length === 0) return;
    const field = (key, text) => ({ name: text, value: (e) => e.run[key] });
    stack("The driver's time", "Work and waits of the driver's threads, and the time in which it was idle while a kernel ran.", timed, name,
      [field("fetch_ns", "fetch"), field("order_ns", "order"), field("service_ns", "service"), field("migrate_ns", "migrate"),
        field("map_ns", "map"), field("evict_ns", "evict"), field("replay_ns", "flush, replay, wait"), field("idle_ns", "idle")], asTime);
    stack("The kernels' time", "From launch to end of each kernel: was there a warp that could run?", timed, name,
      [field("compute_ns", "some warp could run"), { name: "stalled", value: (e) => Math.max(0, e.run.kernel_ns - e.run.compute_ns) }], asTime);
  }
  function causeParts(entries) {
    const parts = [];
    for (const [key, text] of [["to_gpu_bytes", "to the GPU"], ["to_cpu_bytes", "to the CPU"]])
      for (const cause of new Set(entries.flatMap((e) => Object.keys(e.pictures[key]))))
        parts.push({ name: cause + ", " + text, value: (e) => e.pictures[key][cause] || 0 });
    for (const [key, text] of [["zero_bytes", "zeros, on the GPU"], ["program_to_gpu_bytes", "program's copies to the GPU"], ["program_to_cpu_bytes", "program's copies to the CPU"]])
      parts.push({ name: text, value: (e) => e.pictures[key] });
    return parts;
  }
  function drawBelady(entries, name) {
    const known = entries.filter((e) => e.run.bound_h2d_bytes !== null && e.run.complete);
    if (known.length === 0) return;
    const where = section("Distance to Belady's optimum", "Moved to the GPU. The optimum knows the future, and moves single pages of 4 KiB." + beyond);
    chart(where, "bar", known.map(name), [
      { label: "this run", data: known.map((e) => e.run.h2d_bytes), backgroundColor: palette[0] },
      { label: "optimum", data: known.map((e) => e.run.bound_h2d_bytes), backgroundColor: palette[7] },
    ], {
      indexAxis: "y", scales: { x: axis("", asBytes, false, Math.max(...known.map((e) => e.run.h2d_bytes))), y: Object.assign(axis(""), { ticks: { autoSkip: false } }) },
      plugins: { tooltip: { callbacks: { label: (item) => item.dataset.label + ": " + asBytes(item.raw) +
        (item.datasetIndex === 0 ? ", " + asRatio(item.raw / known[item.dataIndex].run.bound_h2d_bytes) + " the optimum" : "") } } },
    }, 1.6 * known.length);
  }

  /* -- distributions -- */
  function drawHistogram(title, note, key, entries, name, format) {
    const known = entries.filter((e) => e.pictures[key] && e.pictures[key].length > 0).slice(0, most);
    if (known.length === 0) return;
    const edges = [...new Set(known.flatMap((e) => e.pictures[key].map((bucket) => bucket[0])))].sort((a, b) => a - b);
    const where = section(title, note + (known.length < entries.length && known.length === most ? " The first " + most + " runs." : ""));
    chart(where, "bar", edges.map((least) => format(least)), known.map((e, i) => {
      const counts = new Map(e.pictures[key]);
      return { label: name(e), data: edges.map((least) => counts.get(least) || 0), backgroundColor: palette[i % palette.length] };
    }), { scales: { x: axis("from … to below twice that"), y: axis("", asCount) }, plugins: { legend: { display: known.length > 1 } } });
  }
  function drawDistributions(entries, name) {
    drawHistogram("Batch sizes", "Fault batches by the faults fetched in them.", "batch_faults", entries, name, (n) => asCount(n));
    drawHistogram("Batch intervals", "Time between the beginnings of two batches.", "batch_interval_ns", entries, name, asTime);
    const sample = Math.max(...entries.map((e) => e.pictures.return_sample));
    drawHistogram("Refault distances", "Pages by how many pages arrived between their eviction and their return: so much more memory would have kept them." +
      (sample > 1 ? " Estimated from one of up to " + sample + " pages." : ""), "return_distance_pages", entries, name, (n) => asBinary(n) + (n < 1024 ? " pages" : "-pages"));
    drawHistogram("Copies to the GPU", "Copies by their size.", "copy_to_gpu_bytes", entries, name, asBytes);
  }

  /* -- curves over memory size -- */
  function curve(title, note, sets) {
    const values = sets.flatMap((set) => set.data.map((point) => point.y)).filter((y) => y > 0);
    const isWide = Math.max(...values) > 30 * Math.min(...values);
    const where = section(title, note + (isWide ? " Logarithmic." : ""), true), top = (key) => Math.max(...sets.flatMap((set) => set.data.map((point) => point[key])));
    sets.forEach((set, i) => Object.assign(set, { borderColor: set.color || palette[i % palette.length], backgroundColor: set.color || palette[i % palette.length], pointRadius: 3 }));
    chart(where, "line", [], sets, {
      scales: { x: Object.assign(axis("GPU memory", asBytes, false, top("x")), { type: "linear", beginAtZero: false }), y: isWide ? Object.assign(axis("moved to the GPU", asBytes), { type: "logarithmic" }) : axis("moved to the GPU", asBytes, false, top("y")) },
      plugins: { legend: { labels: { usePointStyle: true, pointStyle: "line" } }, tooltip: Object.assign(tips(asBytes), { callbacks: Object.assign(tips(asBytes).callbacks, { title: (items) => asBytes(items[0].raw.x) }) }) },
    });
  }
  function drawCurves() {
    for (const [workload, entries] of groupBy(data.runs, (e) => e.run.workload)) {
      if (!different(entries.map((e) => e.run.memory_bytes))) continue;
      const point = (e, key) => ({ x: e.run.memory_bytes, y: e.run[key] });
      const first = entries.filter((e) => e.run.complete && e.run.seed === entries[0].run.seed && !e.run.draw);
      const sets = [...groupBy(first, policyName)].map(([policy, list]) => ({ label: policy, data: list.map((e) => point(e, "h2d_bytes")) }));
      const optimum = new Map(first.filter((e) => e.run.bound_h2d_bytes !== null).map((e) => [e.run.memory_bytes, point(e, "bound_h2d_bytes")]));
      if (optimum.size > 0) sets.push({ label: "Belady's optimum", data: [...optimum.values()], color: palette[7], borderDash: [6, 4] });
      for (const set of sets) set.data.sort((a, b) => a.x - b.x);
      curve("Memory size: " + workload.split(/[:,]/)[0], "Each point is a run; between points nothing is known." + (optimum.size > 0 ? beyond : ""), sets);
    }
  }
  function drawBounds() {
    if (data.bounds.length === 0) return;
    const list = data.bounds.filter((b) => b.complete !== false).sort((a, b) => a.memory_bytes - b.memory_bytes);
    const names = { 4096: "pages of 4 KiB", 65536: "big pages of 64 KiB", 2097152: "VABlocks of 2 MiB" };
    const sets = list[0].units.map((unit, i) => ({ label: "optimum for " + (names[unit.unit_bytes] || asBytes(unit.unit_bytes)), data: list.map((b) => ({ x: b.memory_bytes, y: b.units[i].h2d_bytes })) }));
    sets.push({ label: "compulsory: each page once", data: list.map((b) => ({ x: b.memory_bytes, y: b.units[0].touched_bytes })), color: palette[7], borderDash: [6, 4] });
    curve("Belady's optimum, over memory size", "What moves to the GPU if the future is known and everything used must move, for each size of unit. Between points nothing is known.", sets);
  }

  /* -- all of them -- */
  function draw(isPrint) {
    const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
    theme = isPrint ? { text: "#000", faint: "#444", line: "#bbb", isDark: false } : { text: of("--text"), faint: of("--faint"), line: of("--line"), isDark: of("--back") !== "#ffffff" };
    for (const made of charts) made.destroy();
    charts = [];
    main.textContent = "";
    Chart.defaults.color = theme.faint;
    Chart.defaults.borderColor = theme.line;
    const drawn = data.runs.filter((e) => e.pictures);
    const broken = data.runs.filter((e) => !e.run.complete).length;
    if (broken > 0) element("p", main, broken + " of " + data.runs.length + " runs did not complete: their numbers are those up to their end.", "note all");
    drawSpeedups();
    drawCurves();
    drawBounds();
    const name = namer(data.runs.filter((e) => !e.run.draw && e.run.seed === data.runs[0].run.seed));
    for (const e of drawn) drawHeat(drawn.length > 1 ? "Pages over time: " + name(e) : "Pages over time", e.pictures);
    if (data.log) drawHeat("Pages over time", data.log.pictures);
    if (data.not_drawn > 0) element("p", main, "Heat maps and distributions: the first " + drawn.length + " runs; " + data.not_drawn + " more have none.", "note all");
    const shown = data.runs.filter((e) => !e.run.draw && e.run.seed === data.runs[0].run.seed);
    if (shown.length < data.runs.length) element("p", main, "From here on: the first seed, and the model itself.", "note all");
    drawTimes(shown, name);
    const pictured = data.log ? [{ pictures: data.log.pictures }] : drawn, title = data.log ? () => data.log.name : name;
    if (pictured.length > 0) stack("Bytes by cause", "Managed pages that moved, and why.", pictured, title, causeParts(pictured), asBytes);
    drawBelady(shown, name);
    if (pictured.length > 0) drawDistributions(pictured, title);
  }
  draw(false);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    for (const made of charts) made.resize();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(false));
  window.addEventListener("beforeprint", () => draw(true));
  window.addEventListener("afterprint", () => draw(false));
})();
