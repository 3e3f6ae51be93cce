import type { PricesInForce } from '../../../apps/control-plane/src/features/models/prices-in-force.service.ts';
import { ModelsService } from '../../../apps/control-plane/src/features/models/models.service.ts';
import type { SetPrice } from '../../../apps/control-plane/src/features/models/models.dto.ts';
import { PricingService } from '../../../apps/control-plane/src/features/models/pricing.service.ts';
import type { AutoRechargeService } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import type { PurchasesService } from '../../../apps/control-plane/src/features/subscriptions/purchases.service.ts';
import { SubscriptionsService } from '../../../apps/control-plane/src/features/subscriptions/subscriptions.service.ts';
import type { TokenLedger } from '../../../apps/control-plane/src/features/subscriptions/token-ledger.service.ts';
import type { WithdrawalsService } from '../../../apps/control-plane/src/features/subscriptions/withdrawals.service.ts';
import type { LiveStateService } from '../../../apps/control-plane/src/features/live-state/live-state.service.ts';
import { AccountScope } from '../../../apps/control-plane/src/platform/access/account-scope.ts';
import type { Caller } from '../../../apps/control-plane/src/platform/access/caller.ts';
import type { Transactions } from '../../../apps/control-plane/src/platform/database/transactions.ts';
import type { Host } from '../../../apps/control-plane/src/platform/host/host.ts';
import { Refusal } from '../../../apps/control-plane/src/platform/http/refusal.ts';
import { Idempotency } from '../../../apps/control-plane/src/platform/idempotency/idempotency.ts';
import type { ControlPlaneParts } from './control-plane-parts.ts';
import { MODEL_ID, type Subscription } from './postgres/first-rows.ts';
import { SALES_CONFIG } from './recharge.ts';

type ModelParts = ConstructorParameters<typeof ModelsService>;
type PricingParts = ConstructorParameters<typeof PricingService>;
type IdempotencyParts = ConstructorParameters<typeof Idempotency>;

interface Needs {
  dataSource: ConstructorParameters<typeof WithdrawalsService>[4];
  transactions: Transactions;
  tokens: TokenLedger;
  live: LiveStateService;
  host: Host;
  prices: PricesInForce;
  purchases: PurchasesService;
  recharge: AutoRechargeService;
  parts: Pick<ControlPlaneParts, 'withdrawals'>;
}

/** The simulation has no activity log, and nodes learn of a price at once. */
const NO_LOG = { record: () => undefined } as unknown as ModelParts[5];
const NO_SNAPSHOTS = { changed: () => undefined } as unknown as ModelParts[4];
const NO_HOUSEKEEPING = { add: () => undefined } as unknown as IdempotencyParts[1];

/** Opens subscribing, renewing, unsubscribing and pricing as they are shipped, less their HTTP. */
export function openSales(needs: Needs) {
  const { dataSource, transactions, tokens, live, host, prices, purchases, recharge } = needs;
  const scope = new AccountScope(dataSource);
  const idempotency = new Idempotency(transactions, NO_HOUSEKEEPING);
  const pricing = new PricingService(
    undefined as unknown as PricingParts[0],
    NO_SNAPSHOTS,
    NO_LOG,
    idempotency,
    SALES_CONFIG,
  );
  const models = new ModelsService(
    undefined as unknown as ModelParts[0],
    transactions,
    pricing,
    prices,
    NO_SNAPSHOTS,
    NO_LOG,
    undefined as unknown as ModelParts[6],
    idempotency,
  );
  const subscriptions = new SubscriptionsService(
    scope,
    idempotency,
    models,
    purchases,
    tokens,
    recharge,
    live,
    NO_LOG,
  );
  const withdrawals = needs.parts.withdrawals(
    scope,
    idempotency,
    live,
    NO_LOG,
    dataSource,
    transactions,
    SALES_CONFIG,
    host,
  );
  return {
    withdrawals,
    /** Renews, or subscribes again where the account is not subscribed. */
    buy: async ({ accountId, autoRecharge }: Subscription, count: number): Promise<void> => {
      const caller = callerOf(accountId);
      const body = { model_id: MODEL_ID, tokens: count };
      try {
        await subscriptions.renew(caller, body, undefined);
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'not_subscribed') throw error;
        const again = {
          auto_recharge_threshold: autoRecharge?.threshold ?? null,
          auto_recharge_amount: autoRecharge?.amount ?? null,
        };
        await subscriptions.subscribe(caller, { ...body, ...again }, undefined);
      }
    },
    unsubscribe: ({ accountId }: Subscription, drain: boolean) =>
      withdrawals.unsubscribe(
        callerOf(accountId),
        { model_id: MODEL_ID },
        { drain, idempotencyKey: undefined },
      ),
    /** Answers the id of the version. */
    setPrice: async (price: SetPrice): Promise<number> =>
      (await pricing.set(callerOf(0), price, undefined)).id,
  };
}

function callerOf(userId: number): Caller {
  return { userId, role: 'user' } as Caller;
}
