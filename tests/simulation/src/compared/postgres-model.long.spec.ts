import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { silenceLogs } from '../../../../apps/control-plane/src/testing/silence-logs.ts';
import { dataSourceOver } from '../postgres/data-source.ts';
import { fillSubscription, FIRST_SUBSCRIPTIONS, pricesRow } from '../postgres/first-rows.ts';
import { ModelPostgres } from '../postgres/model-postgres.ts';
import { STATEMENTS } from '../postgres/statements.ts';
import type { Link } from '../link.ts';
import { sequences, type Act } from './acts.ts';
import { differencesOf } from './final-state.ts';
import { answerText, type Answer } from './recorded.ts';
import { newSequence, prepare, PRICE, type Sequence } from './run-act.ts';
import { startServer, type Database, type Server } from './server.ts';
import { openSide, type Side } from './side.ts';

const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 100);
const SEED = Number(process.env.MODEL_SEED ?? 20_261_122);
/** Allows for a machine with other work. */
const SEQUENCE_MS_MAX = 10_000;
const TIME_MS_MAX = Math.max(600_000, SEQUENCES * SEQUENCE_MS_MAX);
/** A sequence that fails is shrunk for no longer than this. */
const SHRUNK_BY_MS = TIME_MS_MAX - 60_000;
/** Matches names of rows that PostgreSQL numbers with gaps, locks that answer nothing, and names of snapshots. */
const UNCOMPARED =
  /ledger_accounts|ledger_transactions|live_state_outbox|usage_dead_letters|advisory|pg_current_snapshot/;

/** Is read only where a request counts against budgets, which none of a simulation does. */
const UNCOMPARED_COLUMN = 'reported';

let server: Server;
const asked = new Set<string>();

beforeAll(async () => {
  silenceLogs();
  server = await startServer();
}, 120_000);
afterAll(() => server?.stop());

const STEADY = {
  call: async (_label: string, serve: () => unknown) => serve(),
  once: () => undefined,
  off: () => undefined,
} as unknown as Link;

function filledModel(now: () => number): ModelPostgres {
  const model = new ModelPostgres(now, STATEMENTS);
  const tx = model.begin();
  model.rows.prices.put(tx, 1, pricesRow(PRICE));
  for (const subscription of FIRST_SUBSCRIPTIONS)
    fillSubscription(model, tx, subscription, subscription.accountId === 1 ? now() : 0);
  model.commit(tx);
  return model;
}

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: { code?: string; message: string }) => `failed: ${error.code ?? error.message}`,
  );
}

function compareAnswers(model: readonly Answer[], real: readonly Answer[]): void {
  expect(model.map(({ sql }) => sql)).toEqual(real.map(({ sql }) => sql));
  for (const [index, answer] of real.entries()) {
    const modelled = model[index];
    asked.add(answer.sql.slice(0, 60));
    if (!modelled || UNCOMPARED.test(answer.sql) || !/SELECT|RETURNING/.test(answer.sql)) continue;
    const columns = Object.keys(answer.rows?.[0] ?? {}).filter(
      (name) => name !== UNCOMPARED_COLUMN,
    );
    const text = (one: Answer): string => `${answer.sql}\n${answerText(one, columns)}`;
    expect(text(modelled)).toBe(text(answer));
  }
}

async function runBoth(
  sequence: Sequence,
  acts: readonly Act[],
  { model, real, database, db }: { model: Side; real: Side; database: Database; db: ModelPostgres },
): Promise<void> {
  for (const act of acts) {
    const work = prepare(sequence, act);
    // The clock of the real one is a row: each act begins in another snapshot.
    await database.query('UPDATE clock.time SET ms = $1', [sequence.nowMs]);
    db.changes += 1;
    for (const { answers } of [model, real]) answers.splice(0);
    const outcomes = [await outcomeOf(work(model)), await outcomeOf(work(real))];
    expect([act, outcomes[0]]).toEqual([act, outcomes[1]]);
    compareAnswers(model.answers, real.answers);
  }
}

async function runSequence(acts: readonly Act[], seed: number): Promise<void> {
  const sequence = newSequence(seed, await server.noonMs());
  const now = (): number => sequence.nowMs;
  const db = filledModel(now);
  const { database, drop } = await server.copy(sequence.nowMs);
  try {
    const parts = { seed, now };
    await runBoth(sequence, acts, {
      model: openSide({ ...parts, source: dataSourceOver(db, STEADY) }),
      real: openSide({ ...parts, source: database }),
      database,
      db,
    });
    expect(db.fault).toBeNull();
    expect(await differencesOf(db, database)).toEqual([]);
  } finally {
    await drop();
  }
}

test(
  'the model of PostgreSQL answers and keeps what PostgreSQL does, for what a control plane asks in whatever order',
  async () => {
    await fc.assert(
      fc.asyncProperty(sequences, fc.nat(), (acts, seed) => runSequence(acts, seed)),
      {
        ...{ numRuns: SEQUENCES, seed: SEED },
        ...{ interruptAfterTimeLimit: SHRUNK_BY_MS, markInterruptAsFailure: true },
      },
    );
    if (process.env.MODEL_SHOW) console.log([...asked].toSorted().join('\n'));
  },
  TIME_MS_MAX,
);
