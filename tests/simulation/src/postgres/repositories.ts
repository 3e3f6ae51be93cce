import type { PriceTier } from '@tollgate/snapshot';
import { MODEL_ID, MODEL_NAME } from './first-rows.ts';
import type { Statement } from './model-postgres.ts';

/** Is TypeORM's operator. */
interface Operator {
  type: string;
  value: unknown;
}
type Where = Readonly<Record<string, unknown>>;
interface Find {
  where: Where;
  lock?: { mode: 'pessimistic_read' | 'pessimistic_write' };
}

/** Offers the calls of TypeORM's repositories that the code under simulation makes, each a statement of the model. */
export function repositoryOf(
  { name }: { name: string },
  query: (sql: string, parameters: unknown[]) => Promise<unknown>,
): object {
  const methods = ['findOne', 'findOneByOrFail', 'insert'].map((method) => [
    method,
    (...parameters: unknown[]) => query(`repository ${name} ${method}`, parameters),
  ]);
  return Object.fromEntries(methods);
}

/** Returns columns as the fields of an entity. */
function entityOf(row: object): Record<string, unknown> {
  const fields = Object.entries(row).map(([name, value]) => [
    name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return { createdAt: new Date(0), ...Object.fromEntries(fields) };
}

function fits(row: object | undefined, where: Where): boolean {
  const entity = row && entityOf(row);
  return (
    entity !== undefined &&
    Object.entries(where).every(([name, wanted]) =>
      typeof wanted === 'object'
        ? isOneOf(entity[name], wanted as Operator)
        : entity[name] === wanted,
    )
  );
}

function isOneOf(value: unknown, { type, value: wanted }: Operator): boolean {
  if (type !== 'in') throw new TypeError(`the model knows no operator ${type}`);
  return (wanted as unknown[]).includes(value);
}

/** A row that was locked is looked at again: it may have changed meanwhile. */
const findSubscription: Statement = ({ rows: { subscriptions } }, tx, [options]) => {
  const { where, lock } = options as Find;
  const found = subscriptions.all(tx).find((row) => fits(row, where));
  const row = found && lock ? subscriptions.lock(tx, found.id) : found;
  return row && fits(row, where) ? entityOf(row) : null;
};

const findPrice: Statement = ({ rows: { prices } }, tx, [where]) => {
  const { weights, effective_at: at, ...row } = prices.get(tx, (where as { id: number }).id) ?? {};
  return { ...entityOf(row), weights, effectiveAt: new Date(at ?? 0) };
};

interface NewPrice {
  modelId: number;
  pricePerMillion: bigint;
  weights: Readonly<Record<string, number | null>>;
  multipliers: Readonly<Record<string, number>>;
  tiers: PriceTier[];
}

/** Inserts a price that is in force from now on. */
const insertPrice: Statement = (db, tx, [columns]) => {
  const { modelId, pricePerMillion, weights, multipliers, tiers } = columns as NewPrice;
  const id = db.rows.prices.nextId();
  const texts = Object.entries(weights).map(([name, weight]) => [
    name,
    weight === null ? null : String(weight),
  ]);
  db.rows.prices.put(tx, id, {
    ...{ id, model_id: modelId, multipliers, tiers, weights: Object.fromEntries(texts) },
    ...{ price_per_million: pricePerMillion, is_free: false, effective_at: db.nowMs },
  });
  return { identifiers: [{ id }] };
};

/** There is one model, whose row only prices and purchases lock. */
const findModel: Statement = (db, tx, [options]) => {
  const { lock } = options as Find;
  if (lock) lockModel(db, tx, { isShared: lock.mode === 'pessimistic_read' });
  return { id: MODEL_ID, name: MODEL_NAME, isOnShelf: true };
};

function lockModel(
  db: Parameters<Statement>[0],
  tx: Parameters<Statement>[1],
  how: { isShared: boolean },
): void {
  db.advisoryLock(tx, `models:${MODEL_ID}`, how);
}

export const REPOSITORY_STATEMENTS: readonly (readonly [string, Statement])[] = [
  ['repository SubscriptionRow findOne', findSubscription],
  [
    'repository SubscriptionRow findOneByOrFail',
    (db, tx, [where], sql) => findSubscription(db, tx, [{ where }], sql),
  ],
  ['repository ModelRow findOne', findModel],
  ['repository PriceVersionRow insert', insertPrice],
  ['repository PriceVersionRow findOneByOrFail', findPrice],
  [
    'SELECT FROM models WHERE id = $1 FOR SHARE',
    (db, tx) => {
      lockModel(db, tx, { isShared: true });
      return [{}];
    },
  ],
];
