import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

/** This file is loaded with --import: SIGWINCH starts a CPU profile, the next one writes it to BENCH_PROFILE. NestJS takes most other signals as a wish to stop. */
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: 200 });
let isRunning = false;
process.on('SIGWINCH', () => {
  if (isRunning)
    session.post('Profiler.stop', (error, answer) => {
      if (!error) writeFileSync(process.env.BENCH_PROFILE, JSON.stringify(answer.profile));
    });
  else session.post('Profiler.start');
  isRunning = !isRunning;
});
