import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startServices, type Services, eventually } from '@tollgate/harness';
import { DataSource, type EntityManager, type MigrationInterface, type QueryRunner } from 'typeorm';
import { isConnectionFailure, isUniqueViolation } from './database-errors.ts';
import { dataSourceOptions } from './data-source-options.ts';
import { migrate } from './migrate.ts';
import { afterCommit, beforeCommit, send, Transactions } from './transactions.ts';

let services: Services;
let dataSource: DataSource;
let transactions: Transactions;
beforeAll(async () => {
  services = await startServices({ redis: false });
  dataSource = await new DataSource(
    dataSourceOptions({ DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 6 }),
  ).initialize();
  transactions = new Transactions(dataSource);
  await dataSource.query(
    'CREATE TABLE notes (id integer PRIMARY KEY, n integer NOT NULL DEFAULT 0)',
  );
}, 60_000);
beforeEach(() => dataSource.query('TRUNCATE notes; INSERT INTO notes (id) VALUES (1), (2)'));
afterAll(async () => {
  await dataSource?.destroy();
  await services?.stop();
});

const read = async (id: number): Promise<number> =>
  (await dataSource.query('SELECT n FROM notes WHERE id = $1', [id]))[0].n;

test('steps before the commit run last inside it, steps after it see what was committed', async () => {
  const order: string[] = [];
  await transactions.run(async (tx) => {
    afterCommit(tx, async () => void order.push(`after sees ${await read(1)}`));
    beforeCommit(tx, async () => {
      await tx.query('UPDATE notes SET n = n + 1 WHERE id = 1');
      order.push(`before, others see ${await read(1)}`);
    });
    order.push('work');
  });
  expect(order).toEqual(['work', 'before, others see 0', 'after sees 1']);
});

test('neither a failing work nor a failing step before the commit leaves anything, and nothing runs after it', async () => {
  let ran = 0;
  const fail = (where: 'work' | 'before') =>
    transactions.run(async (tx) => {
      afterCommit(tx, async () => void (ran += 1));
      await tx.query('UPDATE notes SET n = 9');
      if (where === 'before') beforeCommit(tx, () => Promise.reject(new Error('no')));
      else throw new Error('no');
    });
  await expect(fail('work')).rejects.toThrow('no');
  await expect(fail('before')).rejects.toThrow('no');
  expect([ran, await read(1)]).toEqual([0, 0]);
});

test('a step after the commit that fails does not undo or hide what was committed', async () => {
  const result = await transactions.run(async (tx) => {
    afterCommit(tx, () => Promise.reject(new Error('Redis is away')));
    await tx.query('UPDATE notes SET n = 5 WHERE id = 1');
    return 'done';
  });
  expect([result, await read(1)]).toEqual(['done', 5]);
});

test('two that deadlock both get through, each with its effect once', async () => {
  const { promise: bothStarted, resolve } = Promise.withResolvers<void>();
  let started = 0;
  const crossing = (first: number, second: number) =>
    transactions.run(async (tx) => {
      await tx.query('UPDATE notes SET n = n + 1 WHERE id = $1', [first]);
      started += 1;
      if (started === 2) resolve();
      await bothStarted;
      await tx.query('UPDATE notes SET n = n + 1 WHERE id = $1', [second]);
    });
  await Promise.all([crossing(1, 2), crossing(2, 1)]);
  expect([await read(1), await read(2)]).toEqual([2, 2]);
});

/** Puts PostgreSQL behind a connection whose answers wait while `isHeld`. */
async function withHeldAnswers(
  work: (source: DataSource, answers: { isHeld: boolean }) => Promise<void>,
): Promise<void> {
  const answers = { isHeld: false };
  const waiting: [Socket, Buffer][] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(services.databaseUrl).port), '127.0.0.1');
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) =>
      answers.isHeld ? waiting.push([client, bytes]) : client.write(bytes),
    );
    for (const socket of [client, upstream])
      socket.on('error', () => undefined).on('close', () => (client.destroy(), upstream.destroy()));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(services.databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  const options = dataSourceOptions({ DATABASE_URL: url.href, DATABASE_POOL_MAX: 1 });
  const source = await new DataSource({ ...options, migrations: [] }).initialize();
  try {
    await work(source, {
      get isHeld() {
        return answers.isHeld;
      },
      set isHeld(isHeld) {
        answers.isHeld = isHeld;
        if (!isHeld) for (const [client, bytes] of waiting.splice(0)) client.write(bytes);
      },
    });
  } finally {
    answers.isHeld = false;
    await source.destroy();
    server.close();
  }
}

test('the beginning and all that is sent reach PostgreSQL before its first answer arrives', async () => {
  await withHeldAnswers(async (source, answers) => {
    const connected: unknown = await source.query('SELECT 1 AS one');
    expect(connected).toEqual([{ one: 1 }]);
    answers.isHeld = true;
    const done = new Transactions(source).run(async (tx) => {
      for (const n of [1, 2, 3]) send(tx, 'SELECT pg_advisory_xact_lock(778899, $1::int)', [n]);
    });
    const locks = () =>
      dataSource.query(
        'SELECT objid::int AS n FROM pg_locks WHERE classid = 778899 AND granted ORDER BY n',
      );
    await eventually(async () => expect(await locks()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]));
    answers.isHeld = false;
    await done;
    expect(await locks()).toEqual([]);
  });
});

test('what is sent runs in the order in which it was sent, and is committed with the rest', async () => {
  await transactions.run(async (tx) => {
    send(tx, 'UPDATE notes SET n = n + 1 WHERE id = $1', [1]);
    send(tx, 'UPDATE notes SET n = n * 10 WHERE id = 1');
    expect(await tx.query('SELECT n FROM notes WHERE id = 1')).toEqual([{ n: 10 }]);
    beforeCommit(tx, async () => send(tx, 'UPDATE notes SET n = n + 3 WHERE id = 1'));
  });
  expect(await read(1)).toBe(13);
});

test('a sent statement that fails undoes its transaction, and its error is the one that is thrown', async () => {
  const fail = (after: (tx: EntityManager) => Promise<unknown>) =>
    transactions.run(async (tx) => {
      send(tx, 'UPDATE notes SET n = 9 WHERE id = 1');
      send(tx, 'INSERT INTO notes (id) VALUES (2)');
      send(tx, 'UPDATE notes SET n = 8 WHERE id = 1');
      await after(tx);
    });
  for (const after of [() => Promise.resolve(), (tx: EntityManager) => tx.query('SELECT 1')]) {
    const error = await fail(after).catch((failure: unknown) => failure);
    expect([isUniqueViolation(error, 'notes_pkey'), await read(1)]).toEqual([true, 0]);
  }
});

test('serializable transactions that conflict are repeated until all are done', async () => {
  const increment = () =>
    transactions.run(async (tx) => {
      const [{ n }] = await tx.query('SELECT n FROM notes WHERE id = 1');
      await tx.query('UPDATE notes SET n = $1 WHERE id = 1', [n + 1]);
    }, 'SERIALIZABLE');
  await Promise.all([increment(), increment()]);
  expect(await read(1)).toBe(2);
});

test('replicas that start together migrate an empty database once', async () => {
  const url = await services.createDatabase();
  const replicas = await Promise.all(
    [1, 2, 3].map(() =>
      new DataSource(dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_MAX: 3 })).initialize(),
    ),
  );
  try {
    await Promise.all(replicas.map((one) => migrate(one)));
    await Promise.all(replicas.map((one) => migrate(one)));
    const [{ n }] = (await replicas[0]?.query('SELECT count(*)::int AS n FROM migrations')) ?? [];
    expect(n).toBe(dataSource.migrations.length);
  } finally {
    await Promise.all(replicas.map((replica) => replica.destroy()));
  }
});

/** Takes longer than the limit of the other statements. */
class SlowMigration1999999999999 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SELECT pg_sleep(2)');
  }

  async down(): Promise<void> {}
}

test('a migration, and the replicas that wait for it, may take longer than any other statement', async () => {
  const url = await services.createDatabase();
  const options = dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_MAX: 2 });
  const extra = { ...options.extra, statement_timeout: 1000 };
  const migrations = [...options.migrations, SlowMigration1999999999999];
  const replicas = await Promise.all(
    [1, 2].map(() => new DataSource({ ...options, extra, migrations }).initialize()),
  );
  try {
    // One migrates, the other asks for its turn.
    await Promise.all(replicas.map((one) => migrate(one)));
    for (const replica of replicas) {
      await expect(replica.query('SELECT pg_sleep(2)')).rejects.toThrow('statement timeout');
      expect(await replica.query('SELECT name FROM migrations ORDER BY id')).toEqual(
        migrations.map(({ name }) => ({ name })),
      );
    }
  } finally {
    await Promise.all(replicas.map((one) => one.destroy()));
  }
});

test('a server that drops every connection, in a transaction or idle, costs the transaction and nothing else', async () => {
  const { promise: inside, resolve } = Promise.withResolvers<void>();
  const { promise: dropped, resolve: drop } = Promise.withResolvers<void>();
  const lost = transactions.run(async (tx) => {
    await tx.query('UPDATE notes SET n = 7');
    resolve();
    await dropped;
    await tx.query('SELECT 1');
  });
  await inside;
  await dataSource.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
  );
  drop();
  await expect(lost).rejects.toThrow();
  expect(await read(1)).toBe(0);
});

test('a connection that breaks between two statements is an outage, not a bug', async () => {
  const breakAndUse = (use: (tx: EntityManager) => Promise<unknown>) =>
    transactions
      .run(async (tx) => {
        const [{ pid }] = await tx.query('SELECT pg_backend_pid() AS pid');
        await dataSource.query('SELECT pg_terminate_backend($1)', [pid]);
        await eventually(() => Promise.resolve(expect(tx.queryRunner?.isReleased).toBe(true)));
        await use(tx);
      })
      .catch((error: unknown) => error);
  const failures = [
    await breakAndUse((tx) => tx.query('SELECT 1')),
    await breakAndUse((tx) => tx.queryRunner?.query('SELECT 1') ?? Promise.resolve()),
    await breakAndUse(() => Promise.resolve()),
  ];
  expect(failures.map((failure) => [String(failure), isConnectionFailure(failure)])).toEqual(
    failures.map((failure) => [String(failure), true]),
  );
});

test('distinguishes a taken name and an unreachable database from other errors', async () => {
  const taken = await dataSource
    .query('INSERT INTO notes (id) VALUES (1)')
    .catch((error: unknown) => error);
  expect([
    isUniqueViolation(taken, 'notes_pkey'),
    isUniqueViolation(taken, 'other'),
    isConnectionFailure(taken),
  ]).toEqual([true, false, false]);
  const unreachable = await new DataSource(
    dataSourceOptions({ DATABASE_URL: 'postgres://127.0.0.1:1/x', DATABASE_POOL_MAX: 1 }),
  )
    .initialize()
    .catch((error: unknown) => error);
  expect(isConnectionFailure(unreachable)).toBe(true);
});
