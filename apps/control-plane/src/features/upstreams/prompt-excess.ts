import type { NodeReport } from '@tollgate/contracts';
import { READING_ROUNDS_MAX } from '@tollgate/metering';
import type { ModelReading } from '../snapshots/read-routing-rows.sql.ts';

const MICRO_WEIGHTS_PER_WEIGHT = 1_000_000;

type Row = NonNullable<NonNullable<NodeReport['doubted']>[number]['excess']>[number];
/** Maps models to their excess. */
export type Excesses = ReadonlyMap<number, Row>;

/** Joins what two workers saw of an upstream. */
export function joined(one: Excesses, rows: readonly Row[]): Excesses {
  const all = new Map(one);
  for (const row of rows) {
    const known = all.get(row.model_id);
    all.set(row.model_id, {
      model_id: row.model_id,
      answers: (known?.answers ?? 0) + row.answers,
      tokens: (known?.tokens ?? 0) + row.tokens,
      largest: Math.max(known?.largest ?? 0, row.largest),
    });
  }
  return all;
}

/** Writes the alert of an upstream that reports more input than the bounds of its models. `isEverywhere` is true of a model for which all upstreams it is routed to do so. */
export function sayExcess(
  upstream: string,
  excesses: Excesses,
  {
    models,
    isEverywhere,
  }: {
    models: ReadonlyMap<number, ModelReading>;
    isEverywhere: (model: ModelReading) => boolean;
  },
): { message: string; detail: object } {
  const rows = [...excesses.values()].toSorted((one, other) => other.tokens - one.tokens);
  const said = rows.flatMap((row) => {
    const model = models.get(row.model_id);
    if (!model) return [];
    const proposal = isEverywhere(model) ? proposalOf(model) : '';
    return [{ ...row, model: model.name, proposal }];
  });
  const list = said.map(
    ({ model, answers, tokens, largest, proposal }) =>
      `model ${model}: ${tokens} tokens in ${answers} answers, at most ${largest} in one${proposal}`,
  );
  return {
    message: `Upstream ${upstream} reports more input than the bound of what it was sent. The excess is not charged: ${list.join('; ')}. If the provider bills it, the table of bounds needs a row or a larger figure`,
    detail: { upstream, ...said[0], models: said },
  };
}

/** Reading by itself explains an excess only where all upstreams of a model show it; one alone misreports or is not in the tables. */
function proposalOf({ context_window: window, dearest_weight: weight }: ModelReading): string {
  if (window === null) return '';
  const tokens = READING_ROUNDS_MAX * window;
  const charge = Math.ceil((tokens * (weight ?? 0)) / MICRO_WEIGHTS_PER_WEIGHT);
  return ` (all its upstreams do: if the model searches or reads by itself, reads_more_than_sent allows, and holds, up to ${tokens} input tokens a request, a charge of ${charge} tokens before multipliers)`;
}
