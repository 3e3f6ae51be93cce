import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** This file is loaded into a process with --import: SIGUSR2 writes the longest pause of the event loop since the last one, in milliseconds, to BENCH_PAUSES. */
const pauses = monitorEventLoopDelay({ resolution: 1 });
pauses.enable();
process.on('SIGUSR2', () => {
  writeFileSync(process.env.BENCH_PAUSES, String(pauses.max / 1e6));
  pauses.reset();
});
