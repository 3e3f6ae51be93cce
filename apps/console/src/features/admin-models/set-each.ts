import { setPrice, type Model, type Price } from '../../api/catalogue.ts';
import { failureOf } from '../../api/failure.ts';
import type { Speech } from '../../words/words.ts';
import { repriced } from './repriced.ts';

/** Is a model in the dialog of many prices. */
export interface PriceRow {
  model: Model;
  price: Price | undefined;
  /** Holds what was typed; empty: as it is. */
  typed: string;
  /** Holds what was typed as the interface takes it. */
  amount: string;
  /** Holds what came of it: set, or why not. */
  outcome: string | undefined;
}

export interface Answer {
  id: number;
  isSet: boolean;
  outcome: string;
}

/** Sets one price after the other; a failure does not stop the rest. */
export async function setEach(
  rows: readonly PriceRow[],
  { at, formKey, speech }: { at: string; formKey: string; speech: Speech },
): Promise<Answer[]> {
  const { words } = speech;
  const answers: Answer[] = [];
  for (const { model, price, amount } of rows) {
    const body = {
      ...repriced(price, amount),
      model_id: model.id,
      replaces: price?.id ?? null,
      ...momentOf(at),
    };
    answers.push(
      await setPrice(body, `${formKey}-${model.id}-${price?.id}-${amount}-${at}`).then(
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
