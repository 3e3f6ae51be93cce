import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { newIdempotencyKey } from '../../api/client.ts';
import { unsubscribe, type MyModel } from '../../api/models.ts';
import { paths } from '../../paths.ts';
import { notify } from '../../shell/toasts.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Count } from '../../ui/figures.tsx';
import { ActForm } from '../../ui/form.tsx';
import { formatMoney } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

/** Says what comes back before it happens. */
export function UnsubscribeDialog({
  of: row,
  isOpen,
  onClose,
}: {
  of: MyModel;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { words } = useSpeech();
  const { subscription } = words;
  return (
    <Dialog title={subscription.unsubscribeTitle(row.model)} isOpen={isOpen} onClose={onClose}>
      {({ close }) => <UnsubscribeForm of={row} onDone={close} />}
    </Dialog>
  );
}

function UnsubscribeForm({ of: row, onDone }: { of: MyModel; onDone: () => void }) {
  const { words, locale } = useSpeech();
  const { subscription } = words;
  const navigate = useNavigate();
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <ActForm
      verb={subscription.unsubscribe}
      look="danger"
      act={() => unsubscribe({ userId: row.user_id, modelId: row.model_id, idempotencyKey })}
      onDone={({ refunded_amount: amount, currency }) => {
        notify({ title: subscription.unsubscribed(formatMoney(amount, { currency, locale })) });
        onDone();
        void navigate({ to: paths.market() });
      }}
      onCancel={onDone}
    >
      <p className="text-text-2">{subscription.unsubscribeText}</p>
      <dl className="flex flex-col gap-1.5 rounded-md bg-sunken px-3 py-2">
        <div className="flex justify-between gap-4">
          <dt className="text-text-2">{subscription.refundTokens}</dt>
          <dd>
            <Count count={row.tokens - (row.held ?? 0)} isWhole />
          </dd>
        </div>
        <div className="flex justify-between gap-4">
          <dt className="text-text-2">{subscription.refundAmount}</dt>
          <dd className="max-w-56 text-right text-table text-text-3">
            {subscription.refundUnknown}
          </dd>
        </div>
      </dl>
    </ActForm>
  );
}
