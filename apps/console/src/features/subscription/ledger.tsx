import { useQuery } from '@tanstack/react-query';
import type { MyModel } from '../../api/models.ts';
import { entriesQuery } from '../../api/wallet.ts';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { EntriesTable } from '../wallet/entries-table.tsx';

/** What was bought and refunded of one subscription: entries of the wallet name it in their reference. */
export function SubscriptionLedger({ of: row }: { of: MyModel }) {
  const { subscription } = useWords();
  const entries = useQuery(entriesQuery({ user_id: row.user_id }));
  return (
    <Panel title={subscription.ledger} isFlush>
      <Loaded of={entries}>
        {({ data }) => (
          <EntriesTable
            rows={data.filter(({ reference }) => reference.split(':')[1] === String(row.id))}
            empty={<EmptyState title={subscription.ledgerEmpty} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}
