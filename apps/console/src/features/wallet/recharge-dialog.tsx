import { useState } from 'react';
import { newIdempotencyKey, type Shape } from '../../api/client.ts';
import { recharge } from '../../api/wallet.ts';
import { notify } from '../../browser/notices.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatMoney } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import { SandboxNote } from './sandbox-note.tsx';

/** Pays in. A provider that takes the payer to its own page is followed there by a link, never by itself. */
export function RechargeDialog({
  userId,
  currency,
  isOpen,
  onClose,
}: {
  userId: number;
  currency: string;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { wallet } = useSpeech().words;
  return (
    <Dialog title={wallet.rechargeTitle} isOpen={isOpen} onClose={onClose}>
      {({ close }) => <RechargeForm userId={userId} currency={currency} onDone={close} />}
    </Dialog>
  );
}

interface RechargeFormProps {
  userId: number;
  currency: string;
  onDone: () => void;
}

function RechargeForm({ userId, currency, onDone }: RechargeFormProps) {
  const { words, locale } = useSpeech();
  const { wallet } = words;
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [open, setOpen] = useState<Shape<'Payment'>>();
  if (open?.checkout_url) return <CheckoutLink of={open} to={open.checkout_url} />;
  return (
    <ActForm
      draft="recharge"
      verb={wallet.pay}
      act={({ amount = '' }) => recharge({ userId, amount: amount.trim(), idempotencyKey })}
      onDone={(payment) => {
        if (payment.checkout_url !== null) return setOpen(payment);
        notify({
          title: wallet.recharged(
            formatMoney(payment.amount, { currency: payment.currency, locale }),
          ),
        });
        onDone();
      }}
      onCancel={onDone}
    >
      <SandboxNote />
      <TextField
        name="amount"
        label={wallet.amount}
        unit={currency}
        inputMode="decimal"
        pattern="[0-9]+([.,][0-9]{1,6})?"
        required
        autoComplete="off"
        defaultValue="20"
      />
    </ActForm>
  );
}

function CheckoutLink({ of: { amount, currency }, to }: { of: Shape<'Payment'>; to: string }) {
  const { words, locale } = useSpeech();
  const { wallet } = words;
  return (
    <div className="flex flex-col gap-4">
      <p className="text-text-2">{wallet.openPayment(formatMoney(amount, { currency, locale }))}</p>
      <a
        href={to}
        rel="noreferrer"
        className="inline-flex h-8 items-center self-end rounded-md bg-accent px-3 font-medium text-on-accent hover:bg-accent-strong"
      >
        {wallet.toPayment}
      </a>
    </div>
  );
}
