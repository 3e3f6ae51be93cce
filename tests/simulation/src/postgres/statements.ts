import { LEDGER_STATEMENTS } from './ledger-statements.ts';
import { LIVE_STATEMENTS } from './live-statements.ts';
import type { Statements } from './model-postgres.ts';
import { REPOSITORY_STATEMENTS } from './repositories.ts';
import { RECHARGE_STATEMENTS } from './recharge-statements.ts';
import { TOKEN_STATEMENTS } from './token-statements.ts';
import { USAGE_STATEMENTS } from './usage-statements.ts';

export const STATEMENTS: Statements = [
  ...USAGE_STATEMENTS,
  ...TOKEN_STATEMENTS,
  ...LEDGER_STATEMENTS,
  ...LIVE_STATEMENTS,
  ...RECHARGE_STATEMENTS,
  ...REPOSITORY_STATEMENTS,
];
