import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ACCOUNTS } from './schema/accounts.ts';
import { ACTIVITY } from './schema/activity.ts';
import { BUDGETS } from './schema/budgets.ts';
import { CATALOGUE } from './schema/catalogue.ts';
import { FLEET } from './schema/fleet.ts';
import { INCIDENTS } from './schema/incidents.ts';
import { KEYS } from './schema/keys.ts';
import { MONEY } from './schema/money.ts';
import { ownerFunctions } from './schema/owner-functions.ts';
import { ROUTING } from './schema/routing.ts';
import { STREAM_EVENTS } from './schema/stream-events.ts';
import { TOKENS } from './schema/tokens.ts';
import { USAGE } from './schema/usage.ts';

/** A later one refers to tables of an earlier one. */
const SECTIONS = [
  ACCOUNTS,
  MONEY,
  CATALOGUE,
  TOKENS,
  KEYS,
  BUDGETS,
  ROUTING,
  FLEET,
  USAGE,
  ACTIVITY,
  STREAM_EVENTS,
  INCIDENTS,
];

/** Makes the schema of the first release. Money is bigint micro-units, tokens are bigint charged tokens, times are timestamptz. Facts that must never be wrong are constraints here, not only rules in a service. */
export class Schema1795824000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const section of SECTIONS) await runner.query(section);
    const [row]: { schema: string }[] = await runner.query(
      'SELECT quote_ident(current_schema()) AS schema',
    );
    for (const statement of ownerFunctions(row?.schema ?? 'public')) await runner.query(statement);
  }

  async down(): Promise<void> {
    throw new Error('the first migration cannot be undone: it would drop the books');
  }
}
