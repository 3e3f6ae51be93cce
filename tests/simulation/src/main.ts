import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';

const USAGE = `npm run test:simulation [-- --seeds 20] [--seconds 3600] [--seed 1] [--planted [--only WORDS]]
  Runs the usage code of nodes and control plane on simulated clocks, disks, network, Redis and PostgreSQL, one run out of each seed from --seed on,
  until --seeds are done or --seconds are over. A seed that breaks a promise is shrunk to fewer faults. --seeds 1 --seed N replays seed N.
  --planted: puts each of the known errors in instead, and fails unless it is found; --only: those whose name has these words.`;
const settingsSchema = z.object({
  seeds: z.coerce.number().int().positive().default(20),
  seconds: z.coerce.number().int().positive().default(3_600),
  seed: z.coerce.number().int().nonnegative().default(1),
  planted: z.boolean().default(false),
  only: z.string().default(''),
});
type Settings = z.infer<typeof settingsSchema>;
const ROOT = path.resolve(import.meta.dirname, '../../..');

async function main(args: readonly string[]): Promise<number> {
  const settings = parse(args);
  if (settings === undefined) {
    console.error(USAGE);
    return 2;
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-simulation-'));
  try {
    const report = path.join(folder, 'report');
    const code = await runJest(settings, report);
    const lines = existsSync(report) ? readFileSync(report, 'utf8').split('\n') : [];
    const count = (word: string): number => lines.filter((line) => line.startsWith(word)).length;
    const [passed, failed] = [count('ok '), count('FAIL ')];
    // Jest that broke before the first run is a failure too.
    console.log(`${passed} passed, ${code === 0 ? failed : Math.max(failed, 1)} failed`);
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs under jest, which transforms the decorators of the control plane. */
function runJest(
  { seeds, seconds, seed, planted, only }: Settings,
  report: string,
): Promise<number> {
  const jest = [
    '--experimental-vm-modules',
    '--no-warnings',
    path.join(ROOT, 'node_modules/jest/bin/jest.js'),
    'tests/simulation',
    '--testMatch',
    '**/*.heavy.ts',
    '--runInBand',
  ];
  const env = {
    ...process.env,
    SIMULATION_SEEDS: String(seeds),
    SIMULATION_SECONDS: String(seconds),
    SIMULATION_SEED: String(seed),
    SIMULATION_PLANTED: String(planted),
    SIMULATION_ONLY: only,
    SIMULATION_REPORT: report,
  };
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, jest, { cwd: ROOT, stdio: 'inherit', env });
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function parse(args: readonly string[]): Settings | undefined {
  try {
    const option = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...{ seeds: option, seconds: option, seed: option, only: option },
        planted: { type: 'boolean' },
      },
    });
    return settingsSchema.safeParse(values).data;
  } catch {
    return undefined;
  }
}

process.exitCode = await main(process.argv.slice(2));
