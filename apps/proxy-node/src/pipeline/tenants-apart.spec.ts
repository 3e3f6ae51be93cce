import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@tollgate/harness';
import { NODE_CREDENTIAL } from '../testing/node-under-test.ts';
import { FAILURES, PROVOKING, seenBy, TenantsApart } from './tenants-apart-under-test.ts';

let tenants: TenantsApart;
beforeAll(async () => {
  tenants = await TenantsApart.start();
});
afterAll(() => tenants.stop());

const ROUNDS = 8;
/** An account gets one of these statuses while its routes rest. */
const LEFT = (status: number): boolean => status === 503 || status === 429;
/** All of them are in the long spec. */
const way = FAILURES['500'] as (typeof FAILURES)[string];
const fails = (body: string): boolean => body.includes(PROVOKING);

describe('requests that provoke failures (S37b)', () => {
  test.each([1, 3])('by %s accounts take the route from no other account', async (attackers) => {
    const { model, upstreams } = await tenants.model(way, { fails });
    const provoking = await tenants.accounts([model], attackers);
    const others = await tenants.accounts([model], 2);
    const statuses: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const key of provoking) await tenants.ask(key, model, PROVOKING);
      for (const key of others) statuses.push(await tenants.ask(key, model));
    }
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(seenBy(upstreams).probed).toBeLessThanOrEqual(2);
  });

  test('by one account alone rest the route as they always did, without a probe', async () => {
    const { model, upstreams } = await tenants.model(way, { fails: () => true });
    const [key = ''] = await tenants.accounts([model], 1);
    const statuses: number[] = [];
    for (let asked = 0; asked < 8; asked += 1) statuses.push(await tenants.ask(key, model));
    expect(seenBy(upstreams)).toEqual({ asked: 5, probed: 0 });
    expect(statuses.slice(5).every(LEFT)).toBe(true);
  });
});

test('a provider that is down is left for all within ten requests', async () => {
  const { model, upstreams } = await tenants.model(way, { fails: () => true });
  const keys = await tenants.accounts([model], 4);
  for (let asked = 0; asked < 20; asked += 1)
    await tenants.ask(keys[(asked * asked) % keys.length] ?? '', model);
  const [fresh = ''] = await tenants.accounts([model], 1);
  expect(await tenants.ask(fresh, model)).toBe(503);
  expect(seenBy(upstreams).asked).toBeLessThanOrEqual(10);
});

test('a provider that cannot be reached is left for all after five requests, without a probe', async () => {
  const model = await tenants.node.addModel([{ baseUrl: 'http://127.0.0.1:9/v1' }]);
  const keys = await tenants.accounts([model], 5);
  const statuses: number[] = [];
  for (const key of [...keys, ...keys]) statuses.push(await tenants.ask(key, model));
  expect(statuses.filter((status) => status === 502).length).toBeLessThanOrEqual(5);
  expect(statuses.slice(5).every(LEFT)).toBe(true);
});

test('an operator sees for how many accounts an upstream rests, and what probes cost the installation', async () => {
  const { model, upstreams } = await tenants.model(way, { fails });
  const keys = await tenants.accounts([model], 3);
  for (let round = 0; round < 6; round += 1)
    for (const key of keys.slice(0, 2)) await tenants.ask(key, model, PROVOKING);
  await tenants.ask(keys[2] ?? '', model);
  expect(seenBy(upstreams).probed).toBe(1);
  await until('the node reports the accounts', async () =>
    Boolean((await tenants.node.report())?.upstreams?.some((each) => each.accounts_resting === 2)),
  );
  const scrape = await fetch(`${tenants.node.url}/metrics`, {
    headers: { authorization: `Bearer ${NODE_CREDENTIAL}` },
  });
  const metrics = await scrape.text();
  expect(metrics).toMatch(/tollgate_route_probes_total\{upstream_id="\d+",result="ok",.*\} [1-9]/);
  expect(metrics).toMatch(/tollgate_unpaid_attempt_tokens_total\{.*"input".*\} [1-9]/);
});
