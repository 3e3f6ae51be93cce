import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { RateWindow } from '@tollgate/contracts';
import type { AdmitReply } from '../src/index.ts';
import { BUCKET_MS, RATE_WINDOWS, WindowModel, type Limits } from './window-model.ts';
import { openAccount, request, type Tenant, type World } from './world.ts';

/** Describes limits and a way of asking: how long after the request before, and whether a denial is answered by asking at the very moment named. */
interface Load {
  limits: Limits;
  asks: { afterMs: number; obeysRetry: boolean }[];
}

/** `checks-rates.ts` checks windows of tokens. */
const NO_TOKENS = { tpm: fc.constant(0), tph: fc.constant(0), tpd: fc.constant(0) };
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 25_000 }) },
  { weight: 3, arbitrary: fc.constantFrom(0, 1, 999, 1_000, 1_001) },
  { weight: 2, arbitrary: fc.integer({ min: 30_000, max: 130_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 5_000_000 }) },
);
const loads: fc.Arbitrary<Load> = fc.record({
  limits: fc
    .record({
      rpm: fc.constantFrom(0, 1, 3, 7, 12),
      rph: fc.constantFrom(0, 0, 15, 25),
      rpd: fc.constantFrom(0, 0, 30),
      ...NO_TOKENS,
    })
    .filter((limits) => RATE_WINDOWS.some((window) => limits[window] > 0)),
  asks: fc.array(fc.record({ afterMs: gap, obeysRetry: fc.boolean() }), {
    minLength: 20,
    maxLength: 60,
    size: 'max',
  }),
});

/** Decisions equal the model's; Retry-After is exact and minimal to a millisecond; both window promises hold for what was let through. */
export async function checkWindows(
  world: World,
  { runs, seed, endOnFailure = false }: { runs: number; seed: number; endOnFailure?: boolean },
): Promise<void> {
  const batch = 20;
  const property = fc.asyncProperty(
    fc.array(loads, { minLength: batch, maxLength: batch }),
    async (batchOfLoads) => {
      await Promise.all(batchOfLoads.map(async (load) => runLoad(await world.tenant(), load)));
    },
  );
  await fc.assert(property, { numRuns: Math.ceil(runs / batch), seed, endOnFailure });
}

async function runLoad(tenant: Tenant, { limits, asks }: Load): Promise<void> {
  await openAccount(tenant, { tokens: 1_000_000, ...limits });
  const model = new WindowModel();
  const admittedAt: number[] = [];
  const ask = async (): Promise<AdmitReply> => {
    const { now } = tenant.clock;
    const reply = await tenant.store.admit(request(tenant));
    const denial = model.denial(limits, now);
    if (denial) assert.deepEqual(reply, { kind: 'rate_limited', ...denial });
    else {
      model.count(limits, now);
      admittedAt.push(now);
      assert.ok(reply.kind === 'admitted', JSON.stringify(reply));
      assert.deepEqual(reply.windows, model.states(limits, now));
    }
    return reply;
  };
  for (const { afterMs, obeysRetry } of asks) {
    tenant.clock.now += afterMs;
    const reply = await ask();
    if (reply.kind !== 'rate_limited' || !obeysRetry) continue;
    tenant.clock.now += reply.retryAfterMs - 1;
    assert.equal(
      (await ask()).kind,
      'rate_limited',
      'a millisecond before Retry-After is too early',
    );
    tenant.clock.now += 1;
    assert.equal((await ask()).kind, 'admitted', 'Retry-After is enough');
  }
  for (const window of RATE_WINDOWS)
    if (limits[window] > 0) assertNeverMoreThan(limits[window], admittedAt, 59 * BUCKET_MS[window]);
  await assertWholeLimitReturns(tenant, limits, ask);
}

/** Asserts that no stretch of `spanMs` let more than `limit` through. */
function assertNeverMoreThan(limit: number, admittedAt: readonly number[], spanMs: number): void {
  for (const [index, at] of admittedAt.entries()) {
    const beyond = admittedAt[index + limit];
    assert.ok(
      beyond === undefined || beyond - at > spanMs,
      `${limit + 1} requests within ${spanMs} ms`,
    );
  }
}

/** One window after the last request, the whole limit is there again, at once; and not one request more. */
async function assertWholeLimitReturns(
  tenant: Tenant,
  limits: Limits,
  ask: () => Promise<AdmitReply>,
): Promise<void> {
  const windows: RateWindow[] = RATE_WINDOWS.filter((window) => limits[window] > 0);
  tenant.clock.now += Math.max(...windows.map((window) => 60 * BUCKET_MS[window]));
  const whole = Math.min(...windows.map((window) => limits[window]));
  for (let nth = 0; nth < whole; nth += 1)
    assert.equal((await ask()).kind, 'admitted', 'the whole limit is back');
  assert.equal((await ask()).kind, 'rate_limited');
}
