// This file is loaded into every app with `node --import`. It writes, each second, how late the event loop was at most since the last line, and its 99th percentile in all
// since SIGUSR2 (or the start), in ms, into a file of the process' id. One long turn is beyond any percentile of its second.
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const folder = process.env.EVENT_LOOP_DELAYS;
if (folder) {
  const RESOLUTION_MS = 5;
  const SECOND_MS = 1_000;
  const open = () => {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
    return histogram;
  };
  const [second, sinceSignal] = [open(), open()];
  // The delay is the distance of two ticks beyond the resolution.
  const late = (ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  process.on('SIGUSR2', () => sinceSignal.reset());
  let before = performance.now();
  setInterval(() => {
    // A reset forgets the tick that has not ended: how late this line comes says what was lost of it.
    const now = performance.now();
    const most = Math.max(late(second.max), now - before - SECOND_MS);
    before = now;
    appendFileSync(
      path.join(folder, String(process.pid)),
      `${most} ${late(sinceSignal.percentile(99))}\n`,
    );
    second.reset();
  }, SECOND_MS).unref();
}
