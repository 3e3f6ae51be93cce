import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { newIdempotencyKey, type Shape } from '../../api/client.ts';
import { unsubscribe, type MyModel } from '../../api/models.ts';
import { refundPreviewQuery } from '../../api/previews.ts';
import { notify } from '../../browser/notices.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { Count, Money } from '../../ui/figures.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatMoney } from '../../ui/format.ts';
import { Loaded } from '../../ui/states.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { Line } from '../market/purchase-summary.tsx';

/** Shows the refund before it happens. */
export function UnsubscribeDialog({
  of: row,
  isOpen,
  onClose,
  onUnsubscribed,
}: {
  of: MyModel;
  isOpen: boolean;
  onClose: () => void;
  /** Leads to the next page. */
  onUnsubscribed?: () => Promise<void>;
}) {
  const { words } = useSpeech();
  const { subscription } = words;
  return (
    <Dialog title={subscription.unsubscribeTitle(row.model)} isOpen={isOpen} onClose={onClose}>
      {({ close }) => (
        <UnsubscribeForm
          of={row}
          onDone={async (isUnsubscribed) => {
            close();
            if (isUnsubscribed) await onUnsubscribed?.();
          }}
        />
      )}
    </Dialog>
  );
}

function UnsubscribeForm({
  of: row,
  onDone,
}: {
  of: MyModel;
  onDone: (isUnsubscribed: boolean) => Promise<void>;
}) {
  const { words, locale } = useSpeech();
  const { subscription } = words;
  const preview = useQuery(refundPreviewQuery({ model_id: row.model_id, user_id: row.user_id }));
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <ActForm
      verb={subscription.unsubscribe}
      look="danger"
      act={() => unsubscribe({ userId: row.user_id, modelId: row.model_id, idempotencyKey })}
      onDone={({ refunded_amount: amount, currency }) => {
        notify({ title: subscription.unsubscribed(formatMoney(amount, { currency, locale })) });
        return onDone(true);
      }}
      onCancel={() => void onDone(false)}
    >
      <p className="text-text-2">{subscription.unsubscribeText}</p>
      <Loaded of={preview}>{(refund) => <Refund of={refund} />}</Loaded>
    </ActForm>
  );
}

function Refund({ of: refund }: { of: Shape<'RefundPreview'> }) {
  const { subscription, market } = useWords();
  return (
    <dl className="flex flex-col gap-1.5 rounded-md bg-sunken px-3 py-2">
      <Line name={subscription.refundTokens}>
        <Count count={refund.refunded_tokens} isWhole />
      </Line>
      <Line name={subscription.refundAmount} isStrong id="refund">
        <Money amount={refund.refunded_amount} currency={refund.currency} />
      </Line>
      {refund.held_tokens > 0 && (
        <Line name={subscription.held}>
          <Count count={refund.held_tokens} isWhole />
        </Line>
      )}
      <Line name={subscription.keysAffected}>
        <Count count={refund.keys_affected} isWhole />
      </Line>
      <Line name={market.balanceAfter} id="wallet-after">
        <Money amount={refund.wallet_after} currency={refund.currency} />
      </Line>
    </dl>
  );
}
