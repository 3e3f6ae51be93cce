import { TriangleAlert } from 'lucide-react';
import type { MyModel } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/button.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { isNear, paceOf } from '../subscription/pace.ts';
import { useUsedInDay } from './use-day.ts';

/** What a person should act on, in words; nothing where there is nothing. */
export function Attention({ subscriptions }: { subscriptions: readonly MyModel[] }) {
  const words = useWords();
  const me = useMe();
  const used = useUsedInDay(me.id);
  const notes = subscriptions.flatMap((row) => {
    const text = noteOf(row, used.get(row.model_id) ?? 0, words);
    return text === undefined ? [] : [{ row, text }];
  });
  if (notes.length === 0) return null;
  const { overview } = words;
  return (
    <section
      aria-label={overview.near}
      className="flex flex-col gap-2 rounded-md border border-line bg-warn-soft px-4 py-3"
    >
      {notes.map(({ row, text }) => (
        <p key={row.id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <TriangleAlert aria-hidden className="size-4 shrink-0 text-warn" />
          <span className="foreign min-w-0 flex-1">{text}</span>
          <TextLink to={paths.model(row.model_id)}>{overview.see}</TextLink>
        </p>
      ))}
    </section>
  );
}

function noteOf(row: MyModel, usedInDay: number, { overview }: Words): string | undefined {
  if (row.status === 'closing') return overview.closing(row.model);
  if (!row.is_on_shelf) return overview.offShelf(row.model);
  const pace = paceOf({ tokens: row.tokens, usedInDay });
  if (pace.kind === 'empty') return overview.outOfTokens(row.model);
  return isNear(pace) && !row.auto_recharge_amount ? overview.nearTokens(row.model) : undefined;
}
