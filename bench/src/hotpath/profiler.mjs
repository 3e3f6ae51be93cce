import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

/** Loaded into the node with --import: SIGUSR2 starts a CPU profile, the next one writes it to BENCH_PROFILE. */
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: 200 });
let isRunning = false;
process.on('SIGUSR2', () => {
  if (isRunning)
    session.post('Profiler.stop', (error, answer) => {
      if (!error) writeFileSync(process.env.BENCH_PROFILE, JSON.stringify(answer.profile));
    });
  else session.post('Profiler.start');
  isRunning = !isRunning;
});
