// Loaded into every app with `node --import`: writes, each second, how late the event loop's 99th percentile was in that second, in ms, into a file of the process' id.
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const folder = process.env.EVENT_LOOP_DELAYS;
if (folder) {
  const RESOLUTION_MS = 5;
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  setInterval(() => {
    // What is measured is the distance of two ticks; what is late is what is beyond it.
    appendFileSync(path.join(folder, String(process.pid)), `${Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS)}\n`);
    histogram.reset();
  }, 1_000).unref();
}
