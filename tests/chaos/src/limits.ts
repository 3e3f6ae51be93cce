import type { AdminClient, Customer, RoutedModel, Tollgate } from '@tollgate/harness';
import type { Finding } from '@tollgate/audit';
import pg from 'pg';
import { z } from 'zod';

const BUDGETS_EACH = 3;
/** Much of what a key sends is within its rates; the rest shows that refusals cost nothing. */
const RATES = { rpm: 1_500, tpm: 250_000 };
const MODEL_TPM = 60_000;
const GRANT_SHARE = 0.4;
const RESET_SHARE = 0.3;
/** Amounts are set to between half and three halves of the first ones. */
const AMOUNT_FROM = 0.5;

interface Drawn {
  scope: (owner: { key_id: number; user_id: number }) => object;
  body: object;
  /** Is about what a key uses in two minutes. */
  amount: number;
  decimals?: number;
}

/** Covers every scope, unit and kind of period. Each key has three that follow each other here. */
const BUDGETS: readonly Drawn[] = [
  {
    scope: ({ key_id }) => ({ key_id }),
    body: { unit: 'money', period: 'day', time_zone: 'Pacific/Chatham' },
    ...{ amount: 0.4, decimals: 6 },
  },
  {
    scope: ({ user_id }) => ({ user_id }),
    body: { unit: 'tokens', period: 'rolling', window_minutes: 5, notify_at: [50, 100] },
    amount: 400_000,
  },
  {
    scope: ({ key_id }) => ({ sessions_of: { key_id } }),
    body: { unit: 'charged_tokens', period: 'week', time_zone: 'America/St_Johns' },
    amount: 50_000,
  },
  {
    scope: ({ key_id }) => ({ key_id }),
    body: { unit: 'requests', period: 'rolling', window_minutes: 5 },
    amount: 3_000,
  },
  {
    scope: ({ user_id }) => ({ end_users_of: { user_id } }),
    body: { unit: 'money', period: 'rolling', window_minutes: 60 },
    ...{ amount: 0.05, decimals: 6 },
  },
  {
    scope: ({ user_id }) => ({ user_id }),
    body: { unit: 'charged_tokens', period: 'none', notify_at: [80] },
    amount: 400_000,
  },
];

const created = z.looseObject({ id: z.number() });
const page = z.looseObject({ data: z.array(created) });

interface LimitedBudget {
  id: number;
  owner: Customer;
  drawn: Drawn;
}

/** Sets three rates and three budgets of each customer's key, and changes the budgets meanwhile as their owners do. */
export class Limits {
  readonly #budgets: LimitedBudget[] = [];

  /** Sets the limits. `model` has a rate of its own. */
  async set(customers: readonly Customer[], model: RoutedModel): Promise<void> {
    for (const [index, owner] of customers.entries()) {
      const { client, id: user_id } = owner;
      const [key] = page.parse(await client.call('GET', '/keys')).data;
      if (!key) throw new Error('the customer has no key');
      const ofModel = { window: 'tpm', limit: MODEL_TPM, models: model.name };
      await client.call('PUT', `/keys/${key.id}`, {
        ...RATES,
        rates: [{ ...ofModel, counts_cache_reads: false }],
      });
      for (let nth = 0; nth < BUDGETS_EACH; nth += 1) {
        const drawn = BUDGETS[(index + nth) % BUDGETS.length];
        if (!drawn) throw new Error('there are no budgets');
        const scope = drawn.scope({ key_id: key.id, user_id });
        const body = { scope, amount: amountOf(drawn, 1), ...drawn.body };
        const { id } = created.parse(await client.call('POST', '/budgets', body));
        this.#budgets.push({ id, owner, drawn });
      }
    }
  }

  /** Grants to a budget, resets it, or sets its amount. */
  async changeOne(
    random: () => number,
    clientOf: (customer: Customer) => AdminClient,
  ): Promise<void> {
    const budget = this.#budgets[Math.floor(random() * this.#budgets.length)];
    if (!budget) return;
    const { id, owner, drawn } = budget;
    const change = random();
    const amount = amountOf(drawn, AMOUNT_FROM + random());
    const call = (method: 'POST' | 'PUT', path: string, body: object): Promise<unknown> =>
      clientOf(owner).call(method, `/budgets/${id}${path}`, body);
    const reason = 'chaos';
    if (change < GRANT_SHARE) await call('POST', '/grant', { amount, reason });
    else if (change < GRANT_SHARE + RESET_SHARE) await call('POST', '/reset', { reason });
    else await call('PUT', '', { amount });
  }
}

/** Money is decimal text. */
function amountOf({ amount, decimals }: Drawn, factor: number): number | string {
  const units = amount * factor;
  return decimals === undefined ? Math.round(units) : units.toFixed(decimals);
}

/** Whatever nodes, reaps and journals say of a request: each budget that was there before the load counts each request of its key or account. */
const UNCOUNTED = `
  SELECT format('request %s:%s (%s by %s) does not count in budget %s', u.rid, u.seq, u.kind, u.node, b.id) AS problem
  FROM usage_events u JOIN budgets b ON b.of = 'usage' AND b.user_id = u.user_id AND (b.key_id IS NULL OR b.key_id = u.key_id)
  WHERE u.kind <> 'withdraw' AND NOT EXISTS (SELECT FROM unnest(string_to_array(u.budgets, ',')) claim WHERE split_part(claim, ':', 1)::int = b.id)`;

/** Compares which budgets each booked request names with those that apply to it. */
export async function findUncounted({ databaseUrl }: Tollgate): Promise<Finding> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query(UNCOUNTED);
    const counted = await database.query(
      "SELECT count(*)::int AS count FROM usage_events WHERE kind <> 'withdraw'",
    );
    return {
      name: 'counted',
      promise: 'each request counts in each budget of its key and account',
      compared: z.array(z.object({ count: z.number() })).parse(counted.rows)[0]?.count ?? 0,
      problems: z
        .array(z.object({ problem: z.string() }))
        .parse(rows)
        .map(({ problem }) => problem),
    };
  } finally {
    await database.end();
  }
}
