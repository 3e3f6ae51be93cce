/**
 * Breaks the Lua in one place at a time and asks whether the checks notice. `node libs/keyspace/test/mutants.ts`
 * Those of equivalent-mutants.json change nothing, each for the reason beside it. One that matches no mutant is an error.
 * MUTANTS (60) says how many, 0 means all; SEED (1) says which; ONLY is a part of `<file>:<line>`. The exit status is 0 when at least 95 % were noticed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { startServices } from '@tollgate/harness';
import fc from 'fast-check';
import { z } from 'zod';
import { readFunctionSource, readLua } from '../src/functions/function-source.ts';
import { openRedis, redisReady } from '../src/index.ts';
import { admissionChecks } from './checks-admission.ts';
import { budgetChecks } from './checks-budgets.ts';
import { budgetEdgeChecks } from './checks-budget-edges.ts';
import { budgetPeriodChecks } from './checks-budget-periods.ts';
import { budgetWindowChecks } from './checks-budget-windows.ts';
import { plainBudgetChecks } from './checks-plain-budgets.ts';
import { scopeChecks } from './checks-scopes.ts';
import { callerChecks } from './checks-callers.ts';
import { creditChecks } from './checks-credits.ts';
import { relayChecks } from './checks-relay.ts';
import { boundaryChecks } from './checks-boundaries.ts';
import { checkpointChecks } from './checks-checkpoint.ts';
import { closingChecks } from './checks-closing.ts';
import { fencingChecks } from './checks-fencing.ts';
import { foreignChecks } from './checks-foreign.ts';
import { recordChecks } from './checks-records.ts';
import { reapChecks } from './checks-reaps.ts';
import { repeatingChecks } from './checks-repeating.ts';
import { restoreChecks } from './checks-restore.ts';
import { clockChecks } from './checks-clock.ts';
import { settlementChecks } from './checks-settlement.ts';
import { rateChecks } from './checks-rates.ts';
import { windowChecks } from './checks-windows.ts';
import { sequences } from './model-commands.ts';
import { runSequence } from './model-run.ts';
import { mutantsOf, shuffled, type Mutant } from './mutate-lua.ts';
import { checkWindows } from './window-checks.ts';
import { openWorld, type World } from './world.ts';

const COUNT = Number(process.env.MUTANTS ?? 60);
const SEED = Number(process.env.SEED ?? 1);
const ONLY = process.env.ONLY ?? '';
const NOTICED_MIN = 0.95;
const INVALID = 'does not compile';
const CHECKS = {
  ...settlementChecks,
  ...clockChecks,
  ...closingChecks,
  ...reapChecks,
  ...repeatingChecks,
  ...checkpointChecks,
  ...restoreChecks,
  ...recordChecks,
  ...creditChecks,
  ...relayChecks,
  ...admissionChecks,
  ...callerChecks,
  ...windowChecks,
  ...rateChecks,
  ...fencingChecks,
  ...foreignChecks,
  ...boundaryChecks,
  ...budgetChecks,
  ...budgetEdgeChecks,
  ...budgetPeriodChecks,
  ...budgetWindowChecks,
  ...plainBudgetChecks,
  ...scopeChecks,
};

const changeSchema = z.object({
  ...{ file: z.string(), before: z.string(), after: z.string(), reason: z.string() },
});
type Change = z.output<typeof changeSchema>;
const EQUIVALENT = z
  .array(changeSchema)
  .parse(JSON.parse(readFileSync(new URL('./equivalent-mutants.json', import.meta.url), 'utf8')));

const services = await startServices({ postgres: false });
const admin = openRedis(services.redisUrl, { role: 'plain', name: 'mutants', onError: () => {} });
await redisReady(admin, 10_000);
// A mutant may loop without end: Redis answers others after this time, and the function is ended, which is noticed.
await admin.config('SET', 'busy-reply-threshold', '300');
const watchdog = setInterval(() => void admin.function('KILL').catch(() => {}), 500);
try {
  process.exitCode = await judge(services.redisUrl);
} finally {
  clearInterval(watchdog);
  admin.disconnect();
  await services.stop();
}

async function judge(redisUrl: string): Promise<number> {
  const complaint = await complaintOf(redisUrl, undefined);
  if (complaint) {
    console.error(
      `The checks fail without any mutation, so they would notice nothing: ${complaint}`,
    );
    return 2;
  }
  const files = luaFiles();
  const found = files
    .flatMap((file) => mutantsOf(file, readLua(file)))
    .filter(({ file, line }) => `${file}:${line}`.includes(ONLY));
  const all = found.filter((mutant) => !EQUIVALENT.some((one) => isSame(one, mutant)));
  const stale = EQUIVALENT.filter(
    (one) => ONLY === '' && !found.some((mutant) => isSame(one, mutant)),
  );
  for (const { file, before, after } of stale)
    console.error(`equivalent-mutants.json lists one that is none: ${file}: ${before} => ${after}`);
  if (stale.length > 0) return 2;
  const chosen = shuffled(all, SEED).slice(0, COUNT === 0 ? all.length : COUNT);
  console.log(
    `${all.length} mutants, ${found.length - all.length} equivalent, ${chosen.length} tried, seed ${SEED}`,
  );
  const survivors: Mutant[] = [];
  let invalid = 0;
  for (const mutant of chosen) {
    const noticed = await complaintOf(redisUrl, mutant);
    if (noticed === INVALID) invalid += 1;
    else if (noticed === undefined) survivors.push(mutant);
    console.log(
      `${noticed === undefined ? 'SURVIVED' : noticed === INVALID ? 'invalid ' : 'noticed '} ${describe(mutant)}${noticed && noticed !== INVALID ? `   <- ${noticed}` : ''}`,
    );
  }
  const tried = chosen.length - invalid;
  const noticed = tried - survivors.length;
  console.log(
    `noticed ${noticed} of ${tried} (${((100 * noticed) / tried).toFixed(1)} %)${invalid ? `, ${invalid} did not compile` : ''}`,
  );
  for (const mutant of survivors) console.log(`survivor: ${describe(mutant)}`);
  return noticed / tried >= NOTICED_MIN ? 0 : 1;
}

/** Returns the complaint of the first check that fails for a mutant; undefined if all pass. */
async function complaintOf(
  redisUrl: string,
  mutant: Mutant | undefined,
): Promise<string | undefined> {
  const source = readFunctionSource((file) =>
    file === mutant?.file ? mutant.text : readLua(file),
  );
  const world = await openWorld(redisUrl, source).catch(() => undefined);
  if (!world) return INVALID;
  try {
    const failures = await Promise.all(
      Object.entries(CHECKS).map(async ([promise, check]) =>
        (await failure(() => check(world))) ? promise : [],
      ),
    );
    const [first] = failures.flat();
    if (first !== undefined) return first;
    // Shrinking a failure would only take time: that it fails is all that is asked.
    if (await failure(() => checkWindows(world, { runs: 60, seed: SEED, endOnFailure: true })))
      return 'the window property';
    if (await failure(() => checkModel(world))) return 'the reference model';
    return undefined;
  } finally {
    // A function that was ended after a while took its connection with it.
    await redisReady(world.redis, 30_000);
    await world.redis.flushall();
    await world.redis.function('DELETE', source.library);
    world.close();
  }
}

function isSame({ file, before, after }: Change, mutant: Mutant): boolean {
  return file === mutant.file && before === mutant.before.trim() && after === mutant.after.trim();
}

async function checkModel(world: World): Promise<void> {
  const batches = fc.array(sequences, { minLength: 10, maxLength: 10 });
  const property = fc.asyncProperty(batches, async (batch) => {
    await Promise.all(batch.map(async (sequence) => runSequence(await world.tenant(), sequence)));
  });
  await fc.assert(property, { numRuns: 30, seed: SEED, endOnFailure: true });
}

async function failure(check: () => Promise<void>): Promise<boolean> {
  return check().then(
    () => false,
    () => true,
  );
}

function luaFiles(): string[] {
  const folder = new URL('../lua/', import.meta.url);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.lua'),
  );
  return names.map((name) => name.replaceAll('\\', '/').replace(/\.lua$/, '')).toSorted();
}

function describe({ file, line, operator, before, after }: Mutant): string {
  return `${file}.lua:${line} ${operator}: ${before.trim()}  =>  ${after.trim() || '(nothing)'}`;
}
