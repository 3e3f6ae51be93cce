import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { letPass, until } from '@tollgate/harness';
import { FAILURES, PROVOKING, seenBy, TenantsApart } from './tenants-apart-under-test.ts';

/** Is the number of requests that each account that provokes failures sends: 30 a second. */
const PROVOKED = 240;
const EVERY_MS = 1_000 / 30;
/** So many other accounts send requests meanwhile. */
const OTHERS = 2;
const LOST_MAX = 0.01;
/** Is the longest rest that the gateway gives a route by itself. */
const REST_MS_MAX = 15_000;

let tenants: TenantsApart;
beforeAll(async () => {
  tenants = await TenantsApart.start();
}, 60_000);
afterAll(() => tenants.stop());

const fails = (body: string): boolean => body.includes(PROVOKING);
const ways = [...Object.entries(FAILURES), ['silence', () => undefined] as const].map(
  ([name, fail]) => ({ name, fail, isSilent: name === 'silence' }),
);
type Way = (typeof ways)[number];

/** Counts the requests that others lose while these accounts provoke failures at their pace. */
async function lostOf(
  { fail, isSilent }: Way,
  { upstreams, attackers }: { upstreams: number; attackers: number },
): Promise<{ lost: number; asked: number; probed: number; provoked: number[] }> {
  const { model, upstreams: started } = await tenants.model(fail, { fails, upstreams, isSilent });
  const provoking = await tenants.accounts([model], attackers);
  const others = await tenants.accounts([model], OTHERS);
  const statuses: number[] = [];
  const attack = { isOver: false };
  const asking = others.map(async (key) => {
    while (!attack.isOver) statuses.push(await tenants.ask(key, model));
  });
  const provoked: Promise<number>[] = [];
  for (let sent = 0; sent < PROVOKED; sent += 1) {
    for (const key of provoking) provoked.push(tenants.ask(key, model, PROVOKING));
    await letPass(EVERY_MS, 'the pace of the attack');
  }
  attack.isOver = true;
  await Promise.all(asking);
  const lost = statuses.filter((status) => status !== 200).length;
  const { probed } = seenBy(started);
  return { lost, asked: statuses.length, probed, provoked: await Promise.all(provoked) };
}

describe.each(ways)('30 requests a second that provoke $name', (way) => {
  test.each([
    { attackers: 1, upstreams: 1 },
    { attackers: 1, upstreams: 2 },
    { attackers: 3, upstreams: 1 },
    { attackers: 3, upstreams: 2 },
  ])(
    'by $attackers accounts cost others at most 1 % on $upstreams upstreams',
    async (shape) => {
      const { lost, asked, probed, provoked } = await lostOf(way, shape);
      expect(asked).toBeGreaterThan(100);
      expect(lost / asked).toBeLessThanOrEqual(LOST_MAX);
      expect(provoked).not.toContain(200);
      expect(probed).toBeLessThanOrEqual(2 * shape.upstreams);
    },
    60_000,
  );

  test('is left by all within ten requests where the provider is down, and serves all again once it is up', async () => {
    let isDown = true;
    const { model, upstreams } = await tenants.model(way.fail, {
      fails: () => isDown,
      isSilent: way.isSilent,
    });
    const keys = await tenants.accounts([model], 4);
    for (let asked = 0; asked < 24; asked += 1)
      await tenants.ask(keys[(asked * asked) % keys.length] ?? '', model);
    const [fresh = ''] = await tenants.accounts([model], 1);
    expect([503, 429]).toContain(await tenants.ask(fresh, model));
    expect(seenBy(upstreams).asked).toBeLessThanOrEqual(10);
    isDown = false;
    // The rest that the provider asked for lasts an hour, also for accounts that have not heard of it.
    if (way.name.includes('Retry-After')) return;
    await until(
      'all accounts are served',
      async () =>
        (await Promise.all([...keys, fresh].map((key) => tenants.ask(key, model)))).every(
          (status) => status === 200,
        ),
      2 * REST_MS_MAX,
    );
  }, 60_000);
});
