import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { marketQuery, subscriptionsQuery, type MyModel } from '../../api/models.ts';
import { useLive } from '../../api/events/stream.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Count } from '../../ui/figures.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { BuyDialog, type BuyTarget } from '../market/buy-dialog.tsx';
import { AutoRechargeDialog } from '../subscription/auto-recharge.tsx';
import { UnsubscribeDialog } from '../subscription/unsubscribe.tsx';

type Offer = { id: number; name: string; price: BuyTarget['price'] | null };

/** Shows what an account subscribes to, and what its owner could do with it, done by an administrator. */
export function UserSubscriptions({ userId }: { userId: number }) {
  const words = useWords();
  const { users } = words.admin;
  const found = useQuery({ ...subscriptionsQuery(userId), ...useLive() });
  const { data: offered } = useQuery(marketQuery({}));
  const offers: readonly Offer[] = offered?.data ?? [];
  const mine = new Set(found.data?.map(({ model_id: id }) => id));
  const { buying, setBuying, buy } = useBuying(offers, mine);
  return (
    <Panel
      title={users.subscriptionsTab}
      isFlush
      actions={
        <OfferFilter
          offers={offers.filter(({ id, price }) => price !== null && !mine.has(id))}
          onChoose={buy}
        />
      }
    >
      <Loaded of={found}>
        {(rows) => (
          <Table
            label={users.subscriptionsTab}
            columns={columnsOf(words, (row) => (
              <SubscriptionActs
                of={row}
                price={offers.find(({ id }) => id === row.model_id)?.price ?? null}
                onBuy={() => buy(row.model_id)}
              />
            ))}
            rows={rows}
            rowId={({ id }) => id}
            empty={<EmptyState title={users.noSubscriptions} />}
          />
        )}
      </Loaded>
      <BuyDialog target={buying} userId={userId} onClose={() => setBuying(undefined)} />
    </Panel>
  );
}

function useBuying(offers: readonly Offer[], mine: ReadonlySet<number>) {
  const [buying, setBuying] = useState<BuyTarget>();
  const buy = (modelId: number): void => {
    const offer = offers.find(({ id }) => id === modelId);
    if (!offer?.price) return;
    const { name: model, price } = offer;
    setBuying({ modelId, model, price, isSubscribed: mine.has(modelId) });
  };
  return { buying, setBuying, buy };
}

interface OfferFilterProps {
  offers: readonly Offer[];
  onChoose: (modelId: number) => void;
}

function OfferFilter({ offers, onChoose }: OfferFilterProps) {
  const { users } = useWords().admin;
  return (
    <SelectFilter
      label={users.subscribe}
      value=""
      onChange={(value) => onChoose(Number(value))}
      options={[
        { value: '', label: users.subscribe },
        ...offers.map(({ id, name }) => ({ value: String(id), label: name })),
      ]}
    />
  );
}

function columnsOf(
  { admin: { users }, subscription }: Words,
  acts: (row: MyModel) => React.ReactNode,
): Column<MyModel>[] {
  return [
    {
      id: 'model',
      header: users.model,
      cell: ({ model }) => <span className="foreign">{model}</span>,
    },
    {
      id: 'state',
      header: subscription.status,
      from: 'sm',
      cell: ({ status }) => <StatusBadge of={status} />,
    },
    {
      id: 'auto',
      header: subscription.auto,
      from: 'md',
      align: 'right',
      cell: ({ auto_recharge_amount: amount }) =>
        amount ? <Count count={amount} isWhole /> : subscription.autoOff,
    },
    ...tokenColumns(users),
    { id: 'acts', header: '', align: 'right', cell: acts },
  ];
}

function tokenColumns(users: Words['admin']['users']): Column<MyModel>[] {
  return [
    {
      id: 'held',
      header: users.held,
      align: 'right',
      from: 'sm',
      cell: ({ held }) => (held === null ? '–' : <Count count={held} isWhole />),
    },
    {
      id: 'tokens',
      header: users.tokensLeft,
      align: 'right',
      cell: ({ tokens }) => <Count count={tokens} isWhole />,
    },
  ];
}

function StatusBadge({ of: status }: { of: MyModel['status'] }) {
  const { subscription } = useWords();
  return <Badge tone={status === 'active' ? 'good' : 'off'}>{subscription.statuses[status]}</Badge>;
}

function SubscriptionActs({
  of: row,
  price,
  onBuy,
}: {
  of: MyModel;
  price: BuyTarget['price'] | null;
  onBuy: () => void;
}) {
  const { general, market, subscription } = useWords();
  const [open, setOpen] = useState<'auto' | 'unsubscribe'>();
  const close = (): void => setOpen(undefined);
  return (
    <>
      <Menu
        trigger={<Button size="small">{general.actions}</Button>}
        acts={[
          ...(price && row.is_on_shelf ? [{ label: market.buyMore, onAct: onBuy }] : []),
          { label: subscription.autoSet, onAct: () => setOpen('auto') },
          {
            label: subscription.unsubscribe,
            isDanger: true,
            onAct: () => setOpen('unsubscribe'),
          },
        ]}
      />
      <AutoRechargeDialog of={row} price={price} isOpen={open === 'auto'} onClose={close} />
      <UnsubscribeDialog of={row} isOpen={open === 'unsubscribe'} onClose={close} />
    </>
  );
}
