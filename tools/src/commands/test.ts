import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { APP_PROJECTS, build } from '../build.ts';
import { ROOT } from '../checkout.ts';

const jestResult = z.object({
  success: z.boolean(),
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  /** Counts suites that could not be loaded, whose tests are in no other count. */
  numRuntimeErrorTestSuites: z.number(),
});

export interface TestCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Suites make much short-lived garbage: a larger young space saves a quarter of the CPU of suites that start nothing. Workers inherit the flags. */
const YOUNG_SPACE = ['--min-semi-space-size=32', '--max-semi-space-size=64'];

/** Lists the suites of code that uses Redis and of its effects on clients, which must not change on a cluster. */
const ON_A_CLUSTER = [
  'libs/keyspace',
  'proxy-node/src/(usage|pipeline|operations)',
  'platform/queues',
  'features/(usage|live-state|epochs|reconciliation|subscriptions|snapshots|proxy-nodes)',
  'tests/(e2e|fleet|harness)',
  'data-loss',
  'worker-kill',
];

/** Runs `npm test [-- <jest arguments>]`: the quick suite. */
export function test(args: readonly string[]): Promise<number> {
  return run([], args);
}

/** Runs `npm run test:long [-- <jest arguments>]`: the suites that start whole installations, kill them, or wait for real silences. */
export function testLong(args: readonly string[]): Promise<number> {
  return run(['--testMatch', '**/*.long.spec.ts'], args);
}

/** Runs `npm run test:failover`: every fault of an upstream while another one is healthy, and a table of what clients saw. */
export async function testFailover(args: readonly string[]): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-failover-'));
  const reportFile = path.join(folder, 'report');
  process.env.TOLLGATE_FAILOVER_REPORT = reportFile;
  try {
    const code = await testLong(['tests/e2e/src/failover', ...args]);
    if (existsSync(reportFile)) console.log(`\n${readFileSync(reportFile, 'utf8')}`);
    return code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `npm run test:upgrade`: this release beside the previous one, rolled up and back under load. */
export function testUpgrade(args: readonly string[]): Promise<number> {
  return run(['--testMatch', '**/upgrade.heavy.ts'], args);
}

/** Runs `npm run test:cluster [-- <jest arguments>]`: the core of both suites, each installation with a real Redis Cluster of three primaries. */
export function testCluster(args: readonly string[]): Promise<number> {
  process.env.TOLLGATE_TEST_REDIS = 'cluster';
  return run(['--testMatch', '**/*.spec.ts'], args.length > 0 ? args : ON_A_CLUSTER);
}

/** Builds the processes that tests start, runs jest, and ends with the line `N passed, N failed`. */
async function run(selection: readonly string[], args: readonly string[]): Promise<number> {
  await build(APP_PROJECTS);
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-jest-'));
  try {
    const resultFile = path.join(folder, 'result.json');
    const code = await runJest([...selection, '--json', `--outputFile=${resultFile}`, ...args]);
    const { success, counts } = readResult(resultFile);
    console.log(
      `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`,
    );
    return success && counts.failed === 0 ? code : Math.max(code, 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A process writes its compiled code as it ends. In a worker with all sources that takes longer than the 500 ms after which Jest kills it. */
function withoutCompileCache(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _, ...others } = env;
  return others;
}

function runJest(args: readonly string[]): Promise<number> {
  const flags = [
    '--experimental-vm-modules',
    '--no-warnings',
    ...YOUNG_SPACE,
    path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js'),
  ];
  return new Promise((resolve, reject) => {
    // With --json the report itself goes to standard error; standard output would only repeat the file's path.
    const child = spawn(process.execPath, [...flags, ...args], {
      cwd: ROOT,
      env: withoutCompileCache(process.env),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    // Jest gets Ctrl-C from the terminal; this process stays to report.
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function readResult(file: string): { success: boolean; counts: TestCounts } {
  const result = jestResult.safeParse(parseFile(file));
  // Without a result jest itself failed, which counts as a failure.
  if (!result.success) return { success: false, counts: { passed: 0, failed: 1, skipped: 0 } };
  const { success, numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites } =
    result.data;
  return {
    success,
    counts: {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      skipped: numPendingTests,
    },
  };
}

function parseFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
