// Loaded into every app with `node --import`: writes, each second, how late the event loop's 99th percentile was in that second, and in all since SIGUSR2 (or the start),
// in ms, into a file of the process' id.
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const folder = process.env.EVENT_LOOP_DELAYS;
if (folder) {
  const RESOLUTION_MS = 5;
  const open = () => {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
    return histogram;
  };
  const [second, sinceSignal] = [open(), open()];
  // What is measured is the distance of two ticks; what is late is what is beyond it.
  const late = (histogram) => Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS);
  process.on('SIGUSR2', () => sinceSignal.reset());
  setInterval(() => {
    appendFileSync(
      path.join(folder, String(process.pid)),
      `${late(second)} ${late(sinceSignal)}\n`,
    );
    second.reset();
  }, 1_000).unref();
}
