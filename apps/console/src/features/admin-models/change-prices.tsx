import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { pricesInForceQuery, type Model, type Price } from '../../api/catalogue.ts';
import { newIdempotencyKey } from '../../api/client.ts';
import { notify } from '../../browser/notices.ts';
import { Button } from '../../ui/forms/button.tsx';
import { timesFactor } from '../../ui/cost.ts';
import { localDecimal, plainDecimal } from '../../ui/forms/decimals.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { Money } from '../../ui/figures.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatCount, formatPercent } from '../../ui/format.ts';
import { Loaded } from '../../ui/states.tsx';
import { Parts } from '../../ui/tables/parts.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { setEach, type Answer, type PriceRow } from './set-each.ts';

const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/;
/** A part of the dialog has this many models. */
const PART = 50;
const INPUT =
  'h-7 w-28 rounded-md border border-line-strong bg-surface px-2 text-right text-body tabular text-text hover:border-text-3 aria-invalid:border-bad';

interface ChangePricesProps {
  /** Holds the models that the list shows: its filters choose. */
  of: readonly Model[];
  isOpen: boolean;
  onClose: () => void;
}

/** Sets the prices of many models in one act: each is a request of its own, and the row shows its result. */
export function ChangePricesDialog({ of: models, isOpen, onClose }: ChangePricesProps) {
  const words = useWords().admin.models;
  const prices = useQuery({ ...pricesInForceQuery, enabled: isOpen });
  return (
    <Dialog
      title={words.changePrices}
      purpose={words.changePricesText}
      isOpen={isOpen}
      onClose={onClose}
      width="wide"
    >
      {(controls) => (
        <Loaded of={prices}>
          {({ data }) => (
            <PricesForm
              models={models}
              prices={new Map(data.map((price) => [price.model_id, price]))}
              {...controls}
            />
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

interface PricesFormProps {
  models: readonly Model[];
  prices: ReadonlyMap<number, Price>;
  close: () => void;
  markChanged: () => void;
}

function PricesForm({ models, prices, close, markChanged }: PricesFormProps) {
  const speech = useSpeech();
  const words = speech.words.admin.models;
  const [formKey] = useState(newIdempotencyKey);
  const { rows, changed, type, multiply, take } = useRows(models, prices);
  const count = formatCount(changed.length, speech.locale);
  return (
    <ActForm
      verb={words.setPrices(count)}
      blockedBy={blockedBy(changed, words)}
      act={({ effective_at: at = '' }) => setEach(changed, { at, formKey, speech })}
      onDone={(answers) => {
        if (take(answers)) return;
        notify({ title: words.pricesSet(count) });
        close();
      }}
      onChanged={markChanged}
      onCancel={close}
    >
      <Multiply
        onFactor={(factor) => {
          multiply(factor);
          markChanged();
        }}
      />
      <PricesTable rows={rows} onType={type} />
      <TextField
        name="effective_at"
        label={words.from}
        help={words.fromHelp}
        type="datetime-local"
      />
    </ActForm>
  );
}

function PricesTable({
  rows,
  onType,
}: {
  rows: readonly PriceRow[];
  onType: (id: number, text: string) => void;
}) {
  const speech = useSpeech();
  return (
    <Parts of={rows} size={PART}>
      {(part) => (
        <Table
          label={speech.words.admin.models.changePrices}
          columns={[...priceColumns(speech), ...newPriceColumns(speech, onType)]}
          rows={part}
          rowId={({ model: { id } }) => id}
        />
      )}
    </Parts>
  );
}

/** Returns what is typed in each row, and what came of it. */
function useRows(models: readonly Model[], prices: ReadonlyMap<number, Price>) {
  const { locale } = useSpeech();
  const [typed, setTyped] = useState<ReadonlyMap<number, string>>(new Map());
  const [outcomes, setOutcomes] = useState<ReadonlyMap<number, string>>(new Map());
  const rows = models.map((model): PriceRow => {
    const { id } = model;
    const text = typed.get(id) ?? '';
    return {
      model,
      price: prices.get(id),
      typed: text,
      amount: plainDecimal(text, locale),
      outcome: outcomes.get(id),
    };
  });
  const without = (map: ReadonlyMap<number, string>, gone: number) =>
    new Map([...map].filter(([id]) => id !== gone));
  return {
    rows,
    changed: rows.filter((row) => row.typed !== ''),
    type: (id: number, text: string) => {
      setTyped(new Map([...typed, [id, text]]));
      setOutcomes(without(outcomes, id));
    },
    multiply: (factor: string) => {
      setTyped(multiplied(rows, factor, locale));
      setOutcomes(new Map());
    },
    /** Is true when something failed, which stays typed. */
    take: (answers: readonly Answer[]): boolean => {
      const failed = new Set(answers.filter(({ isSet }) => !isSet).map(({ id }) => id));
      setTyped(new Map([...typed].filter(([id]) => failed.has(id))));
      setOutcomes(new Map(answers.map(({ id, outcome }) => [id, outcome])));
      return failed.size > 0;
    },
  };
}

function blockedBy(
  changed: readonly PriceRow[],
  { noPriceTyped, notAPrice }: Speech['words']['admin']['models'],
): string | undefined {
  if (changed.length === 0) return noPriceTyped;
  return changed.every(({ amount }) => AMOUNT.test(amount)) ? undefined : notAPrice;
}

/** Multiplies the price of every model that has one and is not free. */
function multiplied(
  rows: readonly PriceRow[],
  factor: string,
  locale: string,
): ReadonlyMap<number, string> {
  return new Map(
    rows.flatMap(({ model: { id }, price, typed }): [number, string][] => {
      if (!price || price.free) return typed === '' ? [] : [[id, typed]];
      return [[id, localDecimal(timesFactor(price.price_per_million, factor), locale)]];
    }),
  );
}

function Multiply({ onFactor }: { onFactor: (factor: string) => void }) {
  const { words, locale } = useSpeech();
  const { models } = words.admin;
  const [factor, setFactor] = useState('');
  return (
    <div className="flex items-center gap-2">
      <label className="flex items-center gap-2 font-medium">
        {models.factor}
        <input
          value={factor}
          inputMode="decimal"
          autoComplete="off"
          placeholder="1.1"
          onChange={(event) => setFactor(event.target.value.trim())}
          className={INPUT}
        />
      </label>
      <Button
        size="small"
        blockedBy={AMOUNT.test(plainDecimal(factor, locale)) ? undefined : models.notAPrice}
        onClick={() => onFactor(plainDecimal(factor, locale))}
      >
        {models.fillIn}
      </Button>
    </div>
  );
}

function priceColumns({ words }: Speech): Column<PriceRow>[] {
  const { models } = words.admin;
  return [
    {
      id: 'name',
      header: models.name,
      cell: ({ model }) => <span className="foreign">{model.name}</span>,
    },
    {
      id: 'now',
      header: models.priceNow,
      align: 'right',
      cell: ({ price }) => {
        if (!price) return '–';
        if (price.free) return words.market.free;
        return <Money amount={price.price_per_million} currency={price.currency} />;
      },
    },
  ];
}

function newPriceColumns(
  { words, locale }: Speech,
  onType: (id: number, text: string) => void,
): Column<PriceRow>[] {
  const { models } = words.admin;
  return [
    {
      id: 'then',
      header: models.priceThen,
      align: 'right',
      cell: ({ model, typed, amount }) => (
        <input
          value={typed}
          aria-label={models.priceThenOf(model.name)}
          aria-invalid={typed !== '' && !AMOUNT.test(amount)}
          inputMode="decimal"
          autoComplete="off"
          onChange={(event) => onType(model.id, event.target.value.trim())}
          className={INPUT}
        />
      ),
    },
    {
      id: 'change',
      header: models.change,
      align: 'right',
      cell: ({ price, amount, outcome }) =>
        outcome ?? (price ? changeText(price.price_per_million, amount, locale) : ''),
    },
  ];
}

function changeText(before: string, after: string, locale: string): string {
  if (!AMOUNT.test(after) || Number(before) === 0) return '';
  const share = Number(after) / Number(before) - 1;
  return `${share > 0 ? '+' : ''}${formatPercent(share, locale)}`;
}
