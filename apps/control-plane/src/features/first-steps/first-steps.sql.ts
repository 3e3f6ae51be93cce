import type { DataSource } from 'typeorm';
import { z } from 'zod';

/** Lists the first steps of an account in order. `sql` returns whether a step is done; `$1` is the account. */
export const ACCOUNT_STEPS = {
  wallet:
    "SELECT EXISTS (SELECT 1 FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE a.kind = 'wallet' AND a.user_id = $1 AND e.amount > 0)",
  subscription: 'SELECT EXISTS (SELECT 1 FROM subscriptions WHERE user_id = $1)',
  key: 'SELECT EXISTS (SELECT 1 FROM api_keys WHERE user_id = $1 AND playground_sid IS NULL)',
  first_call:
    "SELECT EXISTS (SELECT 1 FROM usage_events WHERE user_id = $1 AND kind = 'usage' AND status < 400)",
} as const;

/** Lists the steps that a new installation needs before a client can call it. */
export const INSTALLATION_STEPS = {
  upstream: 'SELECT EXISTS (SELECT 1 FROM upstreams WHERE deleted_at IS NULL AND enabled)',
  model: 'SELECT EXISTS (SELECT 1 FROM models WHERE deleted_at IS NULL)',
  price:
    'SELECT EXISTS (SELECT 1 FROM models m JOIN price_versions p ON p.model_id = m.id AND (p.price_per_million > 0 OR p.is_free) WHERE m.deleted_at IS NULL)',
  route:
    'SELECT EXISTS (SELECT 1 FROM routes r JOIN models m ON m.id = r.model_id AND m.deleted_at IS NULL AND m.is_on_shelf JOIN upstreams u ON u.id = r.upstream_id AND u.deleted_at IS NULL AND u.enabled WHERE r.enabled)',
  node: "SELECT EXISTS (SELECT 1 FROM proxy_nodes WHERE deleted_at IS NULL AND enabled AND NOT stopped AND last_seen_at > now() - interval '30 seconds')",
  user: "SELECT EXISTS (SELECT 1 FROM users WHERE deleted_at IS NULL AND status = 'active' AND role = 'user')",
} as const;

const firstSteps = <const Step extends string>(steps: readonly [Step, ...Step[]], id: string) =>
  z
    .object({
      is_complete: z.boolean(),
      steps: z.array(z.object({ step: z.enum(steps), is_done: z.boolean() })),
    })
    .meta({ id });

type AccountStep = keyof typeof ACCOUNT_STEPS;
type InstallationStep = keyof typeof INSTALLATION_STEPS;
export const accountStepsSchema = firstSteps(
  Object.keys(ACCOUNT_STEPS) as [AccountStep, ...AccountStep[]],
  'FirstSteps',
);
export const installationStepsSchema = firstSteps(
  Object.keys(INSTALLATION_STEPS) as [InstallationStep, ...InstallationStep[]],
  'InstallationSteps',
);

/** Returns for each step whether it is done, in one statement. */
export async function stepsDone<Step extends string>(
  dataSource: DataSource,
  steps: Readonly<Record<Step, string>>,
  parameters: unknown[],
): Promise<{ is_complete: boolean; steps: { step: Step; is_done: boolean }[] }> {
  const names = Object.keys(steps) as Step[];
  const columns = names.map((name) => `(${steps[name]}) AS "${name}"`).join(', ');
  const [row]: Record<string, unknown>[] = await dataSource.query(`SELECT ${columns}`, parameters);
  const done = names.map((step) => ({ step, is_done: row?.[step] === true }));
  return { is_complete: done.every(({ is_done: isDone }) => isDone), steps: done };
}
