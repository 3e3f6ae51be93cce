import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, useState } from 'react';
import { marketQuery, subscriptionsQuery, type MyModel, type PriceTag } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/events/stream.ts';
import { paths } from '../../paths.ts';
import { Button, ButtonLink } from '../../ui/forms/button.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { OnceOpened } from '../../ui/once-opened.tsx';
import { optional, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useWords } from '../../words/words.ts';
import type { BuyTarget } from '../market/buy-dialog.tsx';
import { SubscriptionSummary } from './summary.tsx';
import { ENTRY_KINDS, TokenLedger } from './token-ledger.tsx';
import { SubscriptionUsage } from './usage.tsx';

/** Loads a tab that the page does not open with. */
const Purchases = lazy(async () => ({
  default: (await import('./purchases.tsx')).Purchases,
}));
const BuyDialog = lazy(async () => ({
  default: (await import('../market/buy-dialog.tsx')).BuyDialog,
}));
const AutoRechargeDialog = lazy(async () => ({
  default: (await import('./auto-recharge.tsx')).AutoRechargeDialog,
}));
const UnsubscribeDialog = lazy(async () => ({
  default: (await import('./unsubscribe.tsx')).UnsubscribeDialog,
}));

const search = z.object({
  tab: withDefault(z.enum(['usage', 'purchases', 'ledger']), 'usage'),
  kind: optional(z.enum(ENTRY_KINDS)),
  cursor: optional(z.string()),
});

export function Page() {
  const { market, subscription } = useWords();
  const me = useMe();
  const { id = '' } = useParams({ strict: false });
  const mine = useQuery({ ...subscriptionsQuery(me.id), ...useLive() });
  const row = mine.data?.find(({ model_id: modelId }) => String(modelId) === id);
  if (row) return <SubscriptionPage of={row} />;
  return (
    <Frame title={market.model} parent={{ to: paths.market(), label: market.title }}>
      <Panel>
        <Loaded of={mine}>
          {() => (
            <EmptyState
              title={subscription.notSubscribed}
              action={<ButtonLink to={paths.market()}>{subscription.toMarket}</ButtonLink>}
            >
              {subscription.notSubscribedHelp}
            </EmptyState>
          )}
        </Loaded>
      </Panel>
    </Frame>
  );
}

type Open = 'auto' | 'unsubscribe' | undefined;

function SubscriptionPage({ of: row }: { of: MyModel }) {
  const { market, subscription } = useWords();
  const { data: offered } = useQuery(marketQuery({}));
  const model = offered?.data.find(({ id }) => id === row.model_id);
  const [open, setOpen] = useState<Open>();
  const price = model?.price ?? null;
  const { buying, setBuying, buy } = useBuying(row, price);
  return (
    <Frame
      title={row.model}
      parent={{ to: paths.market(), label: market.title }}
      purpose={row.is_on_shelf ? undefined : subscription.offShelf}
      actions={
        <>
          <Button onClick={() => setOpen('auto')}>{subscription.autoSet}</Button>
          <BuyButton of={row} hasPrice={price !== null} onBuy={buy} />
        </>
      }
    >
      <SubscriptionSummary of={row} price={price} />
      <SubscriptionTabs of={row} />
      <div>
        <Button look="danger" onClick={() => setOpen('unsubscribe')}>
          {subscription.unsubscribe}
        </Button>
      </div>
      <OnceOpened isOpen={buying !== undefined}>
        <BuyDialog target={buying} userId={row.user_id} onClose={() => setBuying(undefined)} />
      </OnceOpened>
      <SubscriptionDialogs of={row} price={price} open={open} onClose={() => setOpen(undefined)} />
    </Frame>
  );
}

function useBuying(row: MyModel, price: PriceTag | null) {
  const [buying, setBuying] = useState<BuyTarget>();
  const buy = (): void => {
    if (price) setBuying({ modelId: row.model_id, model: row.model, price, isSubscribed: true });
  };
  return { buying, setBuying, buy };
}

interface SubscriptionDialogsProps {
  of: MyModel;
  price: PriceTag | null;
  open: Open;
  onClose: () => void;
}

function SubscriptionDialogs({ of: row, price, open, onClose }: SubscriptionDialogsProps) {
  const navigate = useNavigate();
  return (
    <OnceOpened isOpen={open !== undefined}>
      <AutoRechargeDialog of={row} price={price} isOpen={open === 'auto'} onClose={onClose} />
      <UnsubscribeDialog
        of={row}
        isOpen={open === 'unsubscribe'}
        onClose={onClose}
        onUnsubscribed={() => navigate({ to: paths.market() })}
      />
    </OnceOpened>
  );
}

interface BuyButtonProps {
  of: MyModel;
  hasPrice: boolean;
  onBuy: () => void;
}

function BuyButton({ of: row, hasPrice, onBuy }: BuyButtonProps) {
  const { market, subscription } = useWords();
  const unpriced = hasPrice ? undefined : market.noPrice;
  return (
    <Button
      look="primary"
      blockedBy={row.is_on_shelf ? unpriced : subscription.offShelfShort}
      onClick={onBuy}
    >
      {market.buyMore}
    </Button>
  );
}

function SubscriptionTabs({ of: row }: { of: MyModel }) {
  const { subscription } = useWords();
  const [{ tab, kind, cursor }, change] = useSearchState(search);
  return (
    <Tabs
      open={tab}
      onOpen={(next) => change({ tab: next, cursor: undefined })}
      tabs={[
        { id: 'usage', label: subscription.used, content: <SubscriptionUsage of={row} /> },
        {
          id: 'purchases',
          label: subscription.lots,
          content: (
            <Purchases of={row} cursor={cursor} onCursor={(next) => change({ cursor: next })} />
          ),
        },
        {
          id: 'ledger',
          label: subscription.tokenLedger,
          content: <TokenLedger of={row} kind={kind} cursor={cursor} onChange={change} />,
        },
      ]}
    />
  );
}
