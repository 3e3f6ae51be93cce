import { TriangleAlert } from '../../ui/icons.tsx';
import type { MyModel } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { useSpeech, useWords, type Words } from '../../words/words.ts';
import { isNear, paceOf } from '../subscription/pace.ts';
import { useUsedInDay } from './use-day.ts';
import { nearLimitText } from '../keys/near-limit-text.ts';
import { useNearLimits } from '../keys/use-near-limits.ts';

interface Note {
  id: string;
  text: string;
  to: string;
}

/** Shows what a person should act on, in words; nothing where there is nothing. */
export function Attention({ subscriptions }: { subscriptions: readonly MyModel[] }) {
  const { overview } = useWords();
  const notes = useNotes(subscriptions);
  if (notes.length === 0) return null;
  return (
    <section
      aria-label={overview.near}
      className="flex flex-col gap-2 rounded-md border border-line bg-warn-soft px-4 py-3"
    >
      {notes.map(({ id, text, to }) => (
        <p key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <TriangleAlert aria-hidden className="size-4 shrink-0 text-warn" />
          <span className="foreign min-w-0 flex-1">{text}</span>
          <TextLink to={to}>{overview.see}</TextLink>
        </p>
      ))}
    </section>
  );
}

function useNotes(subscriptions: readonly MyModel[]): Note[] {
  const speech = useSpeech();
  const me = useMe();
  const used = useUsedInDay(me.id);
  const limits = useNearLimits(me.id);
  const ofSubscriptions = subscriptions.flatMap((row) => {
    const text = noteOf(row, used.get(row.model_id) ?? 0, speech.words);
    return text === undefined
      ? []
      : [{ id: `model-${row.id}`, text, to: paths.model(row.model_id) }];
  });
  const ofKeys = limits.map((limit) => ({
    id: `key-${limit.key.id}`,
    text: nearLimitText(limit, speech),
    to: paths.key(limit.key.id),
  }));
  return [...ofSubscriptions, ...ofKeys];
}

function noteOf(row: MyModel, usedInDay: number, { overview }: Words): string | undefined {
  if (row.status === 'closing') return overview.closing(row.model);
  if (!row.is_on_shelf) return overview.offShelf(row.model);
  const pace = paceOf({ tokens: row.tokens, usedInDay });
  if (pace.kind === 'empty') return overview.outOfTokens(row.model);
  return isNear(pace) && !row.auto_recharge_amount ? overview.nearTokens(row.model) : undefined;
}
