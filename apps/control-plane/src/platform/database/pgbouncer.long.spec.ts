import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startPgBouncer, startServices, type PgBouncer, type Services } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { ifUnlocked, whileLocked } from './advisory-hold.ts';
import { dataSourceOptions } from './data-source-options.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { prepared } from './prepared.ts';
import { requireSessionSettings } from './session-settings.ts';

const LOCK = [7_999_001] as const;

describe.each(['session', 'transaction'] as const)('PgBouncer by %s', (poolMode) => {
  let services: Services;
  let bouncer: PgBouncer;
  /** Two replicas share few connections of the server. */
  let replicas: DataSource[];

  beforeAll(async () => {
    services = await startServices({ redis: false });
    bouncer = await startPgBouncer(services, { poolMode, poolSize: 12 });
    replicas = await Promise.all(
      [1, 2].map(() =>
        new DataSource(
          dataSourceOptions({ DATABASE_URL: bouncer.databaseUrl, DATABASE_POOL_MAX: 5 }),
        ).initialize(),
      ),
    );
  }, 60_000);
  afterAll(async () => {
    await Promise.all((replicas ?? []).map((replica) => replica.destroy()));
    await bouncer?.process.stop();
    await services?.stop();
  });

  test('replicas that migrate together run each migration once', async () => {
    await Promise.all(replicas.map((replica) => migrate(replica)));
    for (const replica of replicas) expect(await pendingMigrations(replica)).toEqual([]);
  }, 60_000);

  test('a lock excludes the other replica while the work runs, whichever connections the statements get', async () => {
    const [one, other] = replicas as [DataSource, DataSource];
    let inside = 0;
    let most = 0;
    let turns = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      for (let statement = 0; statement < 5; statement += 1) await one.query('SELECT pg_sleep(0)');
      turns += 1;
      inside -= 1;
    };
    const ask = (replica: DataSource) => async (): Promise<void> => {
      for (let time = 0; time < 20; time += 1) await whileLocked(replica, LOCK, work);
    };
    await Promise.all([ask(one)(), ask(other)(), ask(other)()]);
    expect({ most, turns }).toEqual({ most: 1, turns: 60 });
  }, 60_000);

  test('statements that are prepared elsewhere run on whichever connection they get', async () => {
    const ask = prepared('SELECT $1::int * 2 AS double');
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (replicas[index % 2] as DataSource).query(ask, [index]),
      ),
    );
    expect(answers).toEqual(answers.map((_, index) => [{ double: index * 2 }]));
  });

  test('a lock that another replica has is reported at once, and is free again after it', async () => {
    const [one, other] = replicas as [DataSource, DataSource];
    const refused = await whileLocked(one, LOCK, () => ifUnlocked(other, LOCK, async () => 'in'));
    expect(refused).toBeNull();
    expect(await ifUnlocked(other, LOCK, async () => 'in')).toEqual({ value: 'in' });
  });

  test('a failure inside gives the lock back', async () => {
    const [one, other] = replicas as [DataSource, DataSource];
    const failing = whileLocked(one, LOCK, () => Promise.reject(new Error('inside')));
    await expect(failing).rejects.toThrow('inside');
    expect(await ifUnlocked(other, LOCK, async () => 'in')).toEqual({ value: 'in' });
  });

  test.each([
    { name: 'timezone', value: 'Asia/Shanghai', needs: 'UTC' },
    { name: 'default_transaction_isolation', value: 'serializable', needs: 'read committed' },
  ])(
    '$name that the pooler leaves out is refused until the role has it',
    async (setting) => {
      const { name, value, needs } = setting;
      const [one] = replicas as [DataSource];
      const direct = await new DataSource(
        dataSourceOptions({ DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 5 }),
      ).initialize();
      await direct.query(`ALTER ROLE tollgate SET ${name} = '${value}'`);
      const reconnected = await startPgBouncer(services, { poolMode });
      const through = await new DataSource(
        dataSourceOptions({ DATABASE_URL: reconnected.databaseUrl, DATABASE_POOL_MAX: 5 }),
      ).initialize();
      try {
        await expect(requireSessionSettings(through)).rejects.toThrow(
          new RegExp(`need ${needs}.*ALTER ROLE "tollgate" SET ${name} = '${needs}'`, 's'),
        );
        await expect(requireSessionSettings(direct)).resolves.toBeUndefined();
      } finally {
        await direct.query(`ALTER ROLE tollgate RESET ${name}`);
        await Promise.all([direct.destroy(), through.destroy()]);
        await reconnected.process.stop();
      }
      await expect(requireSessionSettings(one)).resolves.toBeUndefined();
    },
    60_000,
  );
});
