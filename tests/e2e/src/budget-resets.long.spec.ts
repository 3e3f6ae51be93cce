import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { periodStarts } from '../../../apps/control-plane/src/features/budgets/calendar.ts';
import { CALENDAR } from '../../../apps/control-plane/src/testing/calendar-zones.ts';
import { counts, setBudgets, settled } from '../../../libs/keyspace/test/budgets-of-tenant.ts';
import { admitted, openAccount, openWorld, type World } from '../../../libs/keyspace/test/world.ts';

/** Is the number of periods that a live record has. */
const RECORDED = 32;
const CHARGE = 7;

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

/** Returns the date of a second, by the platform's formatter, which shares no code with the calendar. */
function dateIn(timeZone: string): (second: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  return (second) => format.format(second * 1_000);
}

describe('each request of the last and of the first millisecond of a day is charged in it, however late it is settled', () => {
  test.each(CALENDAR.zones)(
    'in %s, for 400 days',
    async (timeZone) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 1_000_000_000 });
      const date = dateIn(timeZone);
      const expected = new Map<string, number>();
      const charge = (second: number): void =>
        void expected.set(date(second), (expected.get(date(second)) ?? 0) + CHARGE);
      let open: string[] = [];
      for (let from = CALENDAR.from, day = 0; day < CALENDAR.days; day += RECORDED) {
        const at = { atMs: from * 1_000, count: RECORDED + 1 };
        const starts = periodStarts({ period: 'day', timeZone }, at);
        await setBudgets(tenant, { ofKey: [{ id: 7, amount: 1e15, starts }] });
        for (const start of starts.slice(1)) {
          tenant.clock.now = start * 1_000 - 1;
          const last = await admitted(tenant);
          charge(start - 1);
          tenant.clock.now = start * 1_000;
          const first = await admitted(tenant);
          charge(start);
          for (const rid of [...open, last]) await settled(tenant, rid, CHARGE);
          open = [first];
        }
        from = starts.at(-1) ?? from;
      }
      for (const rid of open) await settled(tenant, rid, CHARGE);
      const found = new Map<string, number>();
      for (const [name, count] of Object.entries(await counts(tenant))) {
        const [used = 0, held = 0] = count.split(',').map(Number);
        expect([name, held]).toEqual([name, 0]);
        const day = date(Number(name.split(':')[1]));
        found.set(day, (found.get(day) ?? 0) + used);
      }
      expect(found).toEqual(expected);
      expect(found.size).toBeGreaterThanOrEqual(CALENDAR.days);
    },
    120_000,
  );
});
