import { useQuery } from '@tanstack/react-query';
import type { MyModel } from '../../api/models.ts';
import { useLive } from '../../api/events/stream.ts';
import { lotsQuery, type TokenLot } from '../../api/subscription-history.ts';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { Count, Money } from '../../ui/figures.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

/** Shows each purchase with what became of its tokens: used, given back, left. */
export function Purchases({
  of: row,
  cursor,
  onCursor,
}: {
  of: MyModel;
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
}) {
  const words = useWords();
  const lots = useQuery({ ...lotsQuery(row.id, cursor), ...useLive() });
  const { subscription } = words;
  return (
    <Panel isFlush>
      <Loaded of={lots}>
        {({ data, next_cursor: next }) => (
          <>
            <Table
              label={subscription.lots}
              columns={columnsOf(words)}
              rows={data}
              rowId={({ id }) => id}
              empty={<EmptyState title={subscription.lotsEmpty} />}
            />
            <CursorPager cursor={cursor} next={next} onCursor={onCursor} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function columnsOf({ subscription, wallet }: Words): Column<TokenLot>[] {
  const tokens = (
    id: 'tokens' | 'used' | 'withdrawn' | 'remaining',
    header: string,
    from?: 'sm' | 'md',
  ): Column<TokenLot> => ({
    id,
    header,
    align: 'right',
    ...(from && { from }),
    cell: (lot) => <Count count={lot[id]} isWhole />,
  });
  return [
    { id: 'when', header: wallet.when, cell: ({ created_at: at }) => <Ago at={at} /> },
    {
      id: 'kind',
      header: wallet.what,
      from: 'sm',
      cell: ({ kind }) => subscription.purchaseKinds[kind],
    },
    tokens('tokens', subscription.lotTokens),
    tokens('used', subscription.lotUsed, 'sm'),
    tokens('withdrawn', subscription.lotWithdrawn, 'md'),
    tokens('remaining', subscription.lotRemaining),
    {
      id: 'cost',
      header: subscription.lotCost,
      align: 'right',
      cell: ({ cost, currency }) => <Money amount={cost} currency={currency} />,
    },
    {
      id: 'refunded',
      header: subscription.lotRefunded,
      align: 'right',
      from: 'md',
      cell: ({ refunded, currency }) => <Money amount={refunded} currency={currency} />,
    },
  ];
}
