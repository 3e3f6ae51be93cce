import { spawn } from 'node:child_process';
import path from 'node:path';
import { BIN_FOLDER, ROOT } from './checkout.ts';

interface Step {
  name: string;
  /** Program in node_modules/.bin and its arguments. */
  command: readonly [string, ...string[]];
  /** What to do when it fails. */
  fix: string;
}

/** Add a step here and it is part of `npm run check` and of CI. All run, in this order, even after a failure. */
const STEPS: readonly Step[] = [
  { name: 'types', command: ['tsc', '-b'], fix: 'Mend the types named above.' },
];

/** `npm run check`: every house rule a program can judge. Ends with the line `N passed, N failed`. */
export async function check(args: readonly string[] = []): Promise<number> {
  const chosen = args.length === 0 ? STEPS : STEPS.filter((step) => args.includes(step.name));
  const failed: Step[] = [];
  for (const step of chosen) {
    const startedAt = Date.now();
    const { isPassed, output } = await run(step);
    console.log(`${isPassed ? 'ok  ' : 'FAIL'}  ${step.name}  (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
    if (isPassed) continue;
    console.log(`${output.trimEnd()}\n  Fix: ${step.fix}\n`);
    failed.push(step);
  }
  console.log(`${chosen.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

function run({ command: [program, ...args] }: Step): Promise<{ isPassed: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(path.join(BIN_FOLDER, program), args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes));
    child.on('error', (error) => resolve({ isPassed: false, output: error.message }));
    child.on('close', (code) => resolve({ isPassed: code === 0, output }));
  });
}
