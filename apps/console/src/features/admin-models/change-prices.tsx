import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { pricesInForceQuery, setPrice, type Model, type Price } from '../../api/catalogue.ts';
import { newIdempotencyKey } from '../../api/client.ts';
import { failureOf } from '../../api/failure.ts';
import { notify } from '../../browser/notices.ts';
import { Button } from '../../ui/forms/button.tsx';
import { timesFactor } from '../../ui/cost.ts';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { Money } from '../../ui/figures.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatCount, formatPercent } from '../../ui/format.ts';
import { Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { repriced } from './repriced.ts';

const AMOUNT = /^\d{1,12}(\.\d{1,6})?$/;
const INPUT =
  'h-7 w-28 rounded-md border border-line-strong bg-surface px-2 text-right text-body tabular text-text hover:border-text-3 aria-invalid:border-bad';

interface Row {
  model: Model;
  price: Price | undefined;
  /** Holds what was typed; empty: as it is. */
  typed: string;
  /** Holds what came of it: set, or why not. */
  outcome: string | undefined;
}

interface ChangePricesProps {
  /** Those that the list shows: its filters choose. */
  of: readonly Model[];
  isOpen: boolean;
  onClose: () => void;
}

/** The prices of many models in one act: each is a request of its own, and the row says what came of it. */
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
      <Table
        label={words.changePrices}
        columns={[...priceColumns(speech), ...newPriceColumns(speech, type)]}
        rows={rows}
        rowId={({ model: { id } }) => id}
      />
      <TextField
        name="effective_at"
        label={words.from}
        help={words.fromHelp}
        type="datetime-local"
      />
    </ActForm>
  );
}

/** Returns what is typed in each row, and what came of it. */
function useRows(models: readonly Model[], prices: ReadonlyMap<number, Price>) {
  const [typed, setTyped] = useState<ReadonlyMap<number, string>>(new Map());
  const [outcomes, setOutcomes] = useState<ReadonlyMap<number, string>>(new Map());
  const rows = models.map((model): Row => {
    const { id } = model;
    return { model, price: prices.get(id), typed: typed.get(id) ?? '', outcome: outcomes.get(id) };
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
      setTyped(multiplied(rows, factor));
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
  changed: readonly Row[],
  { noPriceTyped, notAPrice }: Speech['words']['admin']['models'],
): string | undefined {
  if (changed.length === 0) return noPriceTyped;
  return changed.every(({ typed }) => AMOUNT.test(typed)) ? undefined : notAPrice;
}

/** Multiplies the price of every model that has one and is not free. */
function multiplied(rows: readonly Row[], factor: string): ReadonlyMap<number, string> {
  return new Map(
    rows.flatMap(({ model: { id }, price, typed }): [number, string][] => {
      if (!price || price.free) return typed === '' ? [] : [[id, typed]];
      return [[id, timesFactor(price.price_per_million, factor)]];
    }),
  );
}

interface Answer {
  id: number;
  isSet: boolean;
  outcome: string;
}

/** One after the other; what fails does not stop the rest. */
async function setEach(
  rows: readonly Row[],
  { at, formKey, speech }: { at: string; formKey: string; speech: Speech },
): Promise<Answer[]> {
  const { words } = speech;
  const answers: Answer[] = [];
  for (const { model, price, typed } of rows) {
    const body = {
      ...repriced(price, typed),
      model_id: model.id,
      replaces: price?.id ?? null,
      ...momentOf(at),
    };
    answers.push(
      await setPrice(body, `${formKey}-${model.id}-${price?.id}-${typed}-${at}`).then(
        () => ({ id: model.id, isSet: true, outcome: words.admin.models.isSet }),
        (error: unknown) => {
          const { title, detail } = failureOf(error, words);
          return { id: model.id, isSet: false, outcome: detail ?? title };
        },
      ),
    );
  }
  return answers;
}

function momentOf(at: string): { effective_at?: string } {
  return at === '' ? {} : { effective_at: new Date(at).toISOString() };
}

function Multiply({ onFactor }: { onFactor: (factor: string) => void }) {
  const { models } = useWords().admin;
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
        blockedBy={AMOUNT.test(factor) ? undefined : models.notAPrice}
        onClick={() => onFactor(factor)}
      >
        {models.fillIn}
      </Button>
    </div>
  );
}

function priceColumns({ words }: Speech): Column<Row>[] {
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
): Column<Row>[] {
  const { models } = words.admin;
  return [
    {
      id: 'then',
      header: models.priceThen,
      align: 'right',
      cell: ({ model, typed }) => (
        <input
          value={typed}
          aria-label={models.priceThenOf(model.name)}
          aria-invalid={typed !== '' && !AMOUNT.test(typed)}
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
      cell: ({ price, typed, outcome }) =>
        outcome ?? (price ? changeText(price.price_per_million, typed, locale) : ''),
    },
  ];
}

function changeText(before: string, after: string, locale: string): string {
  if (!AMOUNT.test(after) || Number(before) === 0) return '';
  const share = Number(after) / Number(before) - 1;
  return `${share > 0 ? '+' : ''}${formatPercent(share, locale)}`;
}
