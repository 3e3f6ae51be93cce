import type { LiveRecords } from '@tollgate/keyspace';
import { LiveBalances } from '../../../apps/control-plane/src/features/live-state/live-balances.ts';
import type { LiveStateService } from '../../../apps/control-plane/src/features/live-state/live-state.service.ts';
import type { AutoRechargeService } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import { PurchasesService } from '../../../apps/control-plane/src/features/subscriptions/purchases.service.ts';
import type { TokenLedger } from '../../../apps/control-plane/src/features/subscriptions/token-ledger.service.ts';
import type { LedgerService } from '../../../apps/control-plane/src/features/wallet/ledger.service.ts';
import type { Transactions } from '../../../apps/control-plane/src/platform/database/transactions.ts';
import type { Host } from '../../../apps/control-plane/src/platform/host/host.ts';
import type { ControlPlaneParts } from './control-plane-parts.ts';

type PurchaseParts = ConstructorParameters<typeof PurchasesService>;
type RechargeParts = ConstructorParameters<typeof AutoRechargeService>;

export const SALES_CONFIG = {
  CURRENCY: 'USD',
  FREE_TOKENS_PER_ACCOUNT: 0,
} as unknown as PurchaseParts[4];

interface Needs {
  dataSource: RechargeParts[0];
  transactions: Transactions;
  records: LiveRecords;
  tokens: TokenLedger;
  ledger: LedgerService;
  alerts: RechargeParts[5];
  live: LiveStateService;
  host: Host;
  prices: PurchaseParts[0];
}

/** Opens purchases as they are shipped. */
export function openPurchases({
  ledger,
  tokens,
  live,
  prices,
}: Pick<Needs, 'ledger' | 'tokens' | 'live' | 'prices'>): PurchasesService {
  return new PurchasesService(prices, ledger, tokens, live, SALES_CONFIG);
}

/** Opens auto-recharge as it is shipped, less its timer. */
export function openRecharge(
  recharge: ControlPlaneParts['recharge'],
  { dataSource, transactions, records, tokens, ledger, alerts, live, host, prices }: Needs,
): AutoRechargeService {
  const purchases = openPurchases({ ledger, tokens, live, prices });
  const balances = new LiveBalances(records, host);
  // No account has a budget of purchases.
  const budgets = { count: () => Promise.resolve() };
  return recharge(dataSource, transactions, balances, purchases, tokens, alerts, live, budgets);
}
