import { useState } from 'react';
import { setAutoRecharge, type MyModel, type PriceTag } from '../../api/models.ts';
import { notify } from '../../browser/notices.ts';
import { Button } from '../../ui/forms/button.tsx';
import { costOf } from '../../ui/cost.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatMoney } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';

const FIRST = { threshold: 100_000, amount: 1_000_000 };

/** Buys by itself: below which balance, how much, and what that costs each time. */
export function AutoRechargeDialog({
  of: row,
  price,
  isOpen,
  onClose,
}: {
  of: MyModel;
  price: PriceTag | null;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { words } = useSpeech();
  const { subscription } = words;
  return (
    <Dialog
      title={subscription.auto}
      purpose={subscription.autoText}
      isOpen={isOpen}
      onClose={onClose}
    >
      {({ close, markChanged }) => (
        <AutoRechargeForm of={row} price={price} onDone={close} onChanged={markChanged} />
      )}
    </Dialog>
  );
}

interface AutoRechargeFormProps {
  of: MyModel;
  price: PriceTag | null;
  onDone: () => void;
  onChanged: () => void;
}

function AutoRechargeForm({ of: row, price, onDone, onChanged }: AutoRechargeFormProps) {
  const { words, locale } = useSpeech();
  const { subscription, general } = words;
  const isOn = row.auto_recharge_threshold !== null && !!row.auto_recharge_amount;
  const [amount, setAmount] = useState(String(row.auto_recharge_amount || FIRST.amount));
  const [isStopping, setStopping] = useState(false);
  const cost = costText(amount, price, locale);
  const target = { user_id: row.user_id, model_id: row.model_id };
  if (isStopping)
    return <StopForm target={target} onDone={onDone} onCancel={() => setStopping(false)} />;
  return (
    <ActForm
      verb={general.save}
      act={({ threshold = '' }) =>
        setAutoRecharge({ ...target, threshold: Number(threshold), amount: Number(amount) })
      }
      onDone={() => {
        notify({ title: subscription.autoSaved });
        onDone();
      }}
      onCancel={onDone}
      onChanged={onChanged}
    >
      <LimitFields row={row} amount={amount} onAmount={setAmount} cost={cost} />
      {isOn && (
        <Button look="quiet" className="self-start" onClick={() => setStopping(true)}>
          {subscription.autoTurnOff}
        </Button>
      )}
    </ActForm>
  );
}

function costText(amount: string, price: PriceTag | null, locale: string): string | undefined {
  if (!price || !/^\d{1,15}$/.test(amount)) return undefined;
  const cost = costOf(Number(amount), price.price_per_million);
  return formatMoney(cost, { currency: price.currency, locale });
}

interface LimitFieldsProps {
  row: MyModel;
  amount: string;
  onAmount: (amount: string) => void;
  cost: string | undefined;
}

function LimitFields({ row, amount, onAmount, cost }: LimitFieldsProps) {
  const { subscription } = useWords();
  return (
    <>
      <TextField
        name="threshold"
        label={subscription.autoThreshold}
        inputMode="numeric"
        pattern="[0-9]+"
        required
        defaultValue={String(row.auto_recharge_threshold ?? FIRST.threshold)}
      />
      <TextField
        name="amount"
        label={subscription.autoAmount}
        inputMode="numeric"
        pattern="[0-9]+"
        required
        value={amount}
        onChange={(event) => onAmount(event.target.value)}
        {...(cost !== undefined && { help: subscription.autoCost(cost) })}
      />
    </>
  );
}

function StopForm({
  target,
  onDone,
  onCancel,
}: {
  target: { user_id: number; model_id: number };
  onDone: () => void;
  onCancel: () => void;
}) {
  const { subscription } = useWords();
  return (
    <ActForm
      verb={subscription.autoTurnOff}
      act={() => setAutoRecharge({ ...target, threshold: null, amount: null })}
      onDone={() => {
        notify({ title: subscription.autoStopped });
        onDone();
      }}
      onCancel={onCancel}
    >
      <p className="text-text-2">{subscription.autoOffText}</p>
    </ActForm>
  );
}
