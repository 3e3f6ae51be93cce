import type { Rate } from '@tollgate/contracts';

export interface LiveAccount {
  accountId: number;
  /** Over all its keys. None by default. */
  rates?: readonly Rate[];
  /** `active` admits; any other value refuses and is reported. `deleted` expires after 48 h. */
  status: string;
  drain: boolean;
  revision: number;
  budgets?: string;
}
