import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { addingModels, offeredModels, type AddedModels } from '../../api/bulk.ts';
import { catalogueQuery } from '../../api/catalogue.ts';
import type { Upstream } from '../../api/upstreams.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { CheckField, TextField } from '../../ui/forms/field.tsx';
import { plainDecimal } from '../../ui/forms/decimals.ts';
import { valuesOf } from '../../ui/forms/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Parts } from '../../ui/tables/parts.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech } from '../../words/words.ts';
import { tooManyRows } from '../bulk/bulk-words.ts';
import { ReviewDialog } from '../bulk/review-dialog.tsx';
import { MANY_WORDS } from './many-words.ts';

/** Is the number of models of one part of the dialog. */
const PART = 25;
const AMOUNT = { inputMode: 'decimal', autoComplete: 'off' } as const;

interface AddModelsProps {
  of: Upstream;
  onClose: () => void;
}

/** Reads the list of a provider and adds what is chosen, after a review of all that changes. */
export function AddModelsDialog({ of: upstream, onClose }: AddModelsProps) {
  const words = MANY_WORDS[useSpeech().language];
  const [body, setBody] = useState<AddedModels>();
  const title = `${words.add}: ${upstream.name}`;
  return (
    <Dialog title={title} purpose={words.addText} isOpen onClose={onClose} width="wide">
      {({ markChanged }) => (
        <>
          <Offered
            of={upstream}
            onChosen={markChanged}
            onReview={(chosen) => setBody({ upstream_id: upstream.id, ...chosen })}
          />
          {body && (
            <ReviewDialog
              title={title}
              of={addingModels(body)}
              onClose={() => setBody(undefined)}
              onDone={onClose}
            />
          )}
        </>
      )}
    </Dialog>
  );
}

interface OfferedProps extends Omit<ChoiceProps, 'of'> {
  of: Upstream;
}

function Offered({ of: upstream, ...choosing }: OfferedProps) {
  const words = MANY_WORDS[useSpeech().language];
  const offered = useQuery({
    queryKey: ['upstreams', upstream.id, 'models'],
    queryFn: () => offeredModels(upstream.id),
    staleTime: Infinity,
    gcTime: 0,
  });
  return (
    <Loaded of={offered}>
      {({ models, error }) =>
        models === null || models.length === 0 ? (
          <EmptyState title={error ? words.failed : words.none}>{error?.message}</EmptyState>
        ) : (
          <Choice of={models} {...choosing} />
        )
      }
    </Loaded>
  );
}

interface ChoiceProps {
  of: readonly string[];
  onChosen: () => void;
  onReview: (chosen: Omit<AddedModels, 'upstream_id'>) => void;
}

function Choice({ of: names, onChosen, onReview }: ChoiceProps) {
  const { language, locale } = useSpeech();
  const words = MANY_WORDS[language];
  const known = useKnownNames();
  const [prices, setPrices] = useState<ReadonlyMap<string, string>>(new Map());
  const choosing = {
    prices,
    known,
    setPrices: (next: ReadonlyMap<string, string>): void => {
      setPrices(next);
      onChosen();
    },
  };
  const blockedBy =
    prices.size === 0 ? words.chooseFirst : tooManyRows(prices.size, { language, locale });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (blockedBy === undefined) onReview(chosenOf(prices, event.currentTarget, locale));
      }}
    >
      <ForAll />
      <Names of={names} choosing={choosing} />
      <div data-actions className="flex justify-end">
        <Button type="submit" look="primary" blockedBy={blockedBy}>
          {words.review(formatCount(prices.size, locale))}
        </Button>
      </div>
    </form>
  );
}

/** Returns the names and aliases of models, in lower case. */
function useKnownNames(): ReadonlySet<string> {
  const { data } = useQuery(catalogueQuery);
  return new Set(data?.data.flatMap(({ name, aliases }) => [name, ...aliases].map(lower)));
}

function Names({ of: names, choosing }: { of: readonly string[]; choosing: Choosing }) {
  const words = MANY_WORDS[useSpeech().language];
  const { prices, setPrices, known } = choosing;
  const [q, setQ] = useState('');
  const shown = names.filter((name) => lower(name).includes(lower(q.trim())));
  const chooseNew = (): void => {
    const fresh = shown.filter((name) => !known.has(lower(name)) && !prices.has(name));
    setPrices(new Map([...prices, ...fresh.map((name) => [name, ''] as const)]));
  };
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <SearchBox label={words.search} value={q} onSearch={setQ} />
        <Button size="small" onClick={chooseNew}>
          {words.chooseNew}
        </Button>
      </div>
      <Parts of={shown} size={PART}>
        {(part) => (
          <Table
            label={words.model}
            columns={[
              nameColumn(words, choosing),
              stateColumn(words, known),
              priceColumn(words, choosing),
            ]}
            rows={part}
            rowId={(name) => name}
          />
        )}
      </Parts>
    </>
  );
}

const lower = (name: string): string => name.toLowerCase();

/** Asks for the settings that all chosen models share. */
function ForAll() {
  const words = MANY_WORDS[useSpeech().language];
  return (
    <>
      <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
        <TextField name="price_per_million" label={words.price} {...AMOUNT} />
        <TextField name="weight_output" label={words.output} help={words.outputHelp} {...AMOUNT} />
        <TextField
          name="priority"
          label={words.tier}
          inputMode="numeric"
          pattern="-?[0-9]*"
          autoComplete="off"
        />
      </div>
      <CheckField name="is_on_shelf" label={words.sell} defaultChecked />
    </>
  );
}

/** Returns the body of the plan: the price of a row stands before that of all. */
function chosenOf(
  prices: ReadonlyMap<string, string>,
  form: HTMLFormElement,
  locale: string,
): Omit<AddedModels, 'upstream_id'> {
  const {
    price_per_million: all = '',
    weight_output: output = '',
    ...rest
  } = valuesOf(form, locale);
  const models = [...prices].map(([name, own]) => {
    const amount = own === '' ? all.trim() : plainDecimal(own, locale);
    return {
      upstream_model: name,
      ...(amount !== '' && {
        price: {
          price_per_million: amount,
          ...(output.trim() !== '' && { weight_output: output.trim() }),
          ...(Number(amount) === 0 && { free: true }),
        },
        is_on_shelf: rest['is_on_shelf'] === 'on',
      }),
    };
  });
  return { models, ...(rest['priority'] ? { priority: Number(rest['priority']) } : {}) };
}

interface Choosing {
  prices: ReadonlyMap<string, string>;
  setPrices: (prices: ReadonlyMap<string, string>) => void;
  known: ReadonlySet<string>;
}

type ManyWords = (typeof MANY_WORDS)['en'];

function nameColumn(words: ManyWords, { prices, setPrices }: Choosing): Column<string> {
  const toggle = (name: string): void => {
    const next = new Map(prices);
    if (!next.delete(name)) next.set(name, '');
    setPrices(next);
  };
  return {
    id: 'name',
    header: words.model,
    cell: (name) => (
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          aria-label={words.choose(name)}
          checked={prices.has(name)}
          onChange={() => toggle(name)}
          className="size-4 accent-accent"
        />
        <code className="foreign break-all">{name}</code>
      </label>
    ),
  };
}

function stateColumn(words: ManyWords, known: ReadonlySet<string>): Column<string> {
  return {
    id: 'state',
    header: words.state,
    cell: (name) => (
      <Badge tone={known.has(lower(name)) ? 'off' : 'good'}>
        {known.has(lower(name)) ? words.known : words.fresh}
      </Badge>
    ),
  };
}

function priceColumn(words: ManyWords, { prices, setPrices, known }: Choosing): Column<string> {
  return {
    id: 'price',
    header: words.priceShort,
    align: 'right',
    cell: (name) =>
      prices.has(name) &&
      !known.has(lower(name)) && (
        <input
          aria-label={words.priceOf(name)}
          value={prices.get(name)}
          {...AMOUNT}
          onChange={(event) => setPrices(new Map([...prices, [name, event.target.value.trim()]]))}
          className="h-7 w-28 rounded-md border border-line-strong bg-surface px-2 text-right text-body tabular text-text hover:border-text-3"
        />
      ),
  };
}
