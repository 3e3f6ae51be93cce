import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { readFunctionSource, readLua } from '../src/functions/function-source.ts';
import { FunctionLibrary } from '../src/index.ts';
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
import { ceilingChecks } from './checks-ceilings.ts';
import { checkpointChecks } from './checks-checkpoint.ts';
import { closingChecks } from './checks-closing.ts';
import { fencingChecks } from './checks-fencing.ts';
import { foreignChecks } from './checks-foreign.ts';
import { recordChecks } from './checks-records.ts';
import { reapChecks } from './checks-reaps.ts';
import { repeatingChecks } from './checks-repeating.ts';
import { boundaryChecks } from './checks-boundaries.ts';
import { restoreChecks } from './checks-restore.ts';
import { clockChecks } from './checks-clock.ts';
import { settlementChecks } from './checks-settlement.ts';
import { rateChecks } from './checks-rates.ts';
import { windowChecks } from './checks-windows.ts';
import { checkBudgetSpend } from './budget-spend-check.ts';
import { checkDoubleSpend } from './double-spend-check.ts';
import { checkWindows } from './window-checks.ts';
import { refOf } from './tenant-acts.ts';
import { admitted, openAccount, openWorld, type Checks, type World } from './world.ts';

const WINDOW_RUNS = Number(process.env.WINDOW_RUNS ?? 600);
/** Allows for a machine with other work. */
const WINDOW_RUN_MS_MAX = 200;

let services: Services;
let world: World;

beforeAll(async () => {
  services = await startServices({ postgres: false });
  world = await openWorld(services.redisUrl);
});
afterAll(async () => {
  world?.close();
  await services?.stop();
});

function run(checks: Checks): void {
  for (const [promise, check] of Object.entries(checks)) test(promise, () => check(world));
}

/** Counts the calls of each command so far, but for those by which this spec calls the functions and asks. */
async function commandsInside(): Promise<Map<string, number>> {
  const stats = await world.redis.info('commandstats');
  const found = stats.matchAll(/^cmdstat_(?!fcall|info)([^:]+):calls=(\d+)/gm);
  return new Map([...found].map(([, name = '', calls]) => [name, Number(calls)]));
}

test('a request of a key with three windows runs 15 commands inside its functions beside its looks at the clock', async () => {
  const tenant = await world.tenant();
  await openAccount(tenant, { rpm: 100, rph: 100, rpd: 100 });
  const pair = async (): Promise<void> => {
    const rid = await admitted(tenant);
    const settled = { chargeTokens: 1, payload: '{}', reEmit: false };
    await tenant.store.settle({ ...refOf(tenant, rid), ...settled });
  };
  // The first opens the windows' buckets.
  await pair();
  const before = await commandsInside();
  await pair();
  const made = [...(await commandsInside())]
    .map(([name, calls]) => [name, calls - (before.get(name) ?? 0)] as const)
    .filter(([, calls]) => calls > 0);
  const expected = { mget: 2, hmget: 5, hset: 3, set: 2, zadd: 1, zrem: 1, xadd: 1 };
  expect(Object.fromEntries(made)).toEqual(expected);
});

describe('admission', () => run(admissionChecks));
describe('budgets', () => run(budgetChecks));
describe('edges of budgets', () => run(budgetEdgeChecks));
describe('periods of budgets', () => run(budgetPeriodChecks));
describe('rolling budgets', () => run(budgetWindowChecks));
describe('budgets of reported tokens', () => run(plainBudgetChecks));
describe('budgets of sessions and end users', () => run(scopeChecks));
describe('callers', () => run(callerChecks));
describe('fencing', () => run(fencingChecks));
describe('what other programs wrote', () => run(foreignChecks));
describe('restoring', () => run(restoreChecks));
describe('at an edge', () => run(boundaryChecks));
describe('settlement', () => run(settlementChecks));
describe('settlement while the clock jumps', () => run(clockChecks));
describe('closing subscriptions', () => run(closingChecks));
describe('charges of reaps', () => run(reapChecks));
describe('repeating what Redis has lost', () => run(repeatingChecks));
describe('checkpoints', () => run(checkpointChecks));
describe('records', () => run(recordChecks));
describe('credits', () => run(creditChecks));
describe('ceilings of balances (S54)', () => run(ceilingChecks));
describe('relay', () => run(relayChecks));

describe('request windows', () => {
  run(windowChecks);
  run(rateChecks);

  test(
    'decide as a log of every request would; Retry-After is exact to the millisecond; the whole limit is back one window later, and no window less one bucket sees more',
    () => checkWindows(world, { runs: WINDOW_RUNS, seed: 7 }),
    Math.max(300_000, WINDOW_RUNS * WINDOW_RUN_MS_MAX),
  );
});

describe('many askers at once', () => {
  test('exactly what the balance affords is admitted, and settling three times at once charges once', async () => {
    const others = await Promise.all([
      openWorld(services.redisUrl),
      openWorld(services.redisUrl),
      openWorld(services.redisUrl),
    ]);
    const [accounts = 20, asks = 100] = (process.env.DOUBLE_SPEND ?? '')
      .split('x')
      .filter(Boolean)
      .map(Number);
    await checkDoubleSpend([world, ...others], { accounts, asks });
    for (const other of others) other.close();
  }, 300_000);
});

test('1,000 callers at once never use and hold more of a budget than it has, and use it up, also while a period begins (S22b)', async () => {
  const others = await Promise.all([0, 1].map(() => openWorld(services.redisUrl)));
  await checkBudgetSpend([world, ...others], 1_000);
  for (const other of others) other.close();
}, 60_000);

describe('the library', () => {
  test('loads itself when Redis does not know it, also after SCRIPT FLUSH and FUNCTION FLUSH', async () => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await world.redis.script('FLUSH');
    await admitted(tenant);
    await world.redis.function('FLUSH');
    await Promise.all([admitted(tenant), admitted(tenant), admitted(tenant)]);
  });

  test('of another release lives beside it under names of its own', async () => {
    const other = readFunctionSource((file) => `${readLua(file)}\n-- another release`);
    await new FunctionLibrary(world.redis, other).load();
    await world.library.load();
    const listed = JSON.stringify(await world.redis.function('LIST'));
    expect(listed).toContain(other.library);
    expect(listed).toContain(world.source.library);
    expect(other.nameOf('admit')).not.toBe(world.source.nameOf('admit'));
    const tenant = await world.tenant();
    await openAccount(tenant);
    await admitted(tenant);
  });

  test('is put back within a look where its name has another text', async () => {
    const { text, library } = world.source;
    const forged = text.replace(
      'local balance, held, running = learn_spendable(KEYS[1], KEYS[4], tonumber(sub[2]))',
      'local balance, held, running = 1e9',
    );
    expect(forged).not.toBe(text);
    await world.redis.function('LOAD', 'REPLACE', forged);
    expect(await world.library.keepLoaded()).toEqual([library]);
    expect(JSON.stringify(await world.redis.function('LIST', 'WITHCODE'))).not.toContain('1e9');
    expect(await world.library.keepLoaded()).toEqual([]);
  });

  test('takes its functions back from a library of another name', async () => {
    const { text, library } = world.source;
    await world.redis.function('DELETE', library);
    await world.redis.function('LOAD', text.replace(`name=${library}`, 'name=stranger'));
    expect(await world.library.keepLoaded()).toEqual(['stranger']);
    const listed = JSON.stringify(await world.redis.function('LIST'));
    expect(listed).toContain(library);
    expect(listed).not.toContain('stranger');
  });

  test('refuses only admissions and publications when memory runs out', async () => {
    const flags = JSON.stringify(
      await world.redis.function('LIST', 'LIBRARYNAME', world.source.library),
    );
    expect(flags.match(/allow-oom/g)).toHaveLength(18);
    expect(flags.match(/no-writes/g)).toHaveLength(2);
  });
});
