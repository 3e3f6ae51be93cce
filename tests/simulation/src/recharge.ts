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
import { PRICE_PER_MILLION } from './postgres/first-rows.ts';

type PurchaseParts = ConstructorParameters<typeof PurchasesService>;
type RechargeParts = ConstructorParameters<typeof AutoRechargeService>;

const PRICING = {
  lockPrices: () => Promise.resolve(),
  priceNow: () => Promise.resolve({ perMillion: PRICE_PER_MILLION, at: null }),
} as unknown as PurchaseParts[0];

interface Needs {
  dataSource: RechargeParts[0];
  transactions: Transactions;
  records: LiveRecords;
  tokens: TokenLedger;
  ledger: LedgerService;
  alerts: RechargeParts[5];
  live: LiveStateService;
  host: Host;
}

/** Purchases as they are shipped. The price of a token is always the same. */
export function openPurchases({
  ledger,
  tokens,
  live,
}: Pick<Needs, 'ledger' | 'tokens' | 'live'>): PurchasesService {
  const config = { CURRENCY: 'USD', FREE_TOKENS_PER_ACCOUNT: 0 } as unknown as PurchaseParts[4];
  return new PurchasesService(PRICING, ledger, tokens, live, config);
}

/** Auto-recharge as it is shipped, less its timer. */
export function openRecharge(
  recharge: ControlPlaneParts['recharge'],
  { dataSource, transactions, records, tokens, ledger, alerts, live, host }: Needs,
): AutoRechargeService {
  const purchases = openPurchases({ ledger, tokens, live });
  const balances = new LiveBalances(records, host);
  // No account has a budget of purchases.
  const budgets = { count: () => Promise.resolve() };
  return recharge(dataSource, transactions, balances, purchases, tokens, alerts, live, budgets);
}
