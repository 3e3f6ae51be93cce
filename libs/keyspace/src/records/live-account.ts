import type { Rate } from '@tollgate/contracts';

export interface LiveAccount {
  accountId: number;
  /** Holds the rates over all its keys. The default is none. */
  rates?: readonly Rate[];
  /** `active` admits; any other value refuses and is reported. `deleted` expires after 48 h. */
  status: string;
  drain: boolean;
  revision: number;
  budgets?: string;
}
