import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  priceChangeQuery,
  priceInForceQuery,
  setPrice,
  type Model,
  type Price,
} from '../../api/catalogue.ts';
import { notify } from '../../browser/notices.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { ActForm, valuesOf } from '../../ui/forms/form.tsx';
import { formatMoney } from '../../ui/format.ts';
import { Loaded } from '../../ui/states.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { PriceFields, priceOf } from './price-fields.tsx';

const AMOUNT = /^\d+(\.\d{1,6})?$/;

interface SetPriceDialogProps {
  of: Model;
  isOpen: boolean;
  onClose: () => void;
}

/** Sets a new price, now or later; says what it means for an example request before it is set. */
export function SetPriceDialog({ of: model, isOpen, onClose }: SetPriceDialogProps) {
  const { models } = useWords().admin;
  const inForce = useQuery({ ...priceInForceQuery(model.id), enabled: isOpen });
  return (
    <Dialog title={models.newPrice} purpose={model.name} isOpen={isOpen} onClose={onClose}>
      {(controls) => (
        <Loaded of={inForce}>
          {(price) => <PriceForm of={model} inForce={price ?? undefined} {...controls} />}
        </Loaded>
      )}
    </Dialog>
  );
}

interface PriceFormProps extends Pick<SetPriceDialogProps, 'of'> {
  inForce: Price | undefined;
  close: () => void;
  markChanged: () => void;
}

function PriceForm({ of: model, inForce, close, markChanged }: PriceFormProps) {
  const { models } = useWords().admin;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  // Keeps the price that filled the fields: a price that comes into force meanwhile must not be replaced unseen.
  const [seen] = useState(inForce);
  return (
    <ActForm
      draft="price"
      verb={models.newPrice}
      act={({ effective_at: at, ...typed }) =>
        setPrice({
          model_id: model.id,
          ...priceOf(typed),
          // The form has no fields for them.
          multipliers: seen?.multipliers ?? {},
          replaces: seen?.id ?? null,
          ...(at ? { effective_at: new Date(at).toISOString() } : {}),
        })
      }
      onDone={() => {
        notify({ title: models.priceSet });
        close();
      }}
      onChanged={markChanged}
      onCancel={close}
    >
      <PriceInputs inForce={seen} onValues={setValues} />
      <PriceEffect modelId={model.id} values={values} />
    </ActForm>
  );
}

interface PriceInputsProps {
  inForce: Price | undefined;
  onValues: (values: Readonly<Record<string, string>>) => void;
}

function PriceInputs({ inForce, onValues }: PriceInputsProps) {
  const { words, locale } = useSpeech();
  const { models } = words.admin;
  const readForm = (form: HTMLFormElement | null): void => {
    if (!form) return;
    onValues(valuesOf(form, locale));
  };
  return (
    <div
      className="flex flex-col gap-4"
      onInput={(event) => readForm(event.currentTarget.closest('form'))}
    >
      <PriceFields of={inForce} />
      <TextField
        name="effective_at"
        label={models.from}
        help={models.fromHelp}
        type="datetime-local"
      />
    </div>
  );
}

function PriceEffect({
  modelId,
  values,
}: {
  modelId: number;
  values: Readonly<Record<string, string>>;
}) {
  const { words, locale } = useSpeech();
  const { models } = words.admin;
  const isPrice = AMOUNT.test(values.price_per_million ?? '');
  const { data } = useQuery({
    ...priceChangeQuery(modelId, priceOf(values)),
    enabled: isPrice,
  });
  if (!isPrice || !data) return null;
  const money = (amount: string): string =>
    formatMoney(amount, { currency: data.currency, locale });
  return (
    <p role="status" className="rounded-md bg-sunken px-3 py-2 text-table text-text-2">
      {data.before === null
        ? models.effectNew(money(data.after.cost))
        : models.effect(money(data.before.cost), money(data.after.cost))}
    </p>
  );
}
