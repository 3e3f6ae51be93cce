import { lazy, useState } from 'react';
import { actsOn, type BulkActs } from '../../api/bulk.ts';
import { Button } from '../../ui/forms/button.tsx';
import { formatCount } from '../../ui/format.ts';
import { OnceOpened } from '../../ui/once-opened.tsx';
import { useSpeech } from '../../words/words.ts';
import { BULK_WORDS, tooManyRows } from './bulk-words.ts';
import type { Chosen } from './use-chosen.tsx';

const ReviewDialog = lazy(async () => ({
  default: (await import('./review-dialog.tsx')).ReviewDialog,
}));

interface BulkBarProps extends Chosen {
  acts: readonly BulkActs['act'][];
  /** Holds the ids of the rows that the list shows. */
  shown: readonly number[];
}

/** Stands above a list: chooses what is shown, and leads to the review of an act on what is chosen. */
export function BulkBar({ acts, shown, ids, choose }: BulkBarProps) {
  const { language, locale } = useSpeech();
  const words = BULK_WORDS[language];
  const [act, setAct] = useState<BulkActs['act']>();
  const chosen = [...ids];
  const tooMany = tooManyRows(chosen.length, { language, locale });
  if (shown.length + chosen.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
      <Button size="small" look="quiet" onClick={() => choose(shown)}>
        {words.chooseShown}
      </Button>
      {chosen.length > 0 && (
        <>
          <span role="status" className="text-table text-text-2">
            {words.chosen(formatCount(chosen.length, locale))}
          </span>
          {acts.map((name) => (
            <Button key={name} size="small" blockedBy={tooMany} onClick={() => setAct(name)}>
              {words.acts[name]}
            </Button>
          ))}
          <Button size="small" look="quiet" onClick={() => choose([])}>
            {words.clear}
          </Button>
        </>
      )}
      <OnceOpened isOpen={act !== undefined}>
        {act && (
          <ReviewDialog
            title={words.acts[act]}
            of={actsOn({ act, ids: chosen })}
            onClose={() => setAct(undefined)}
            onDone={() => choose([])}
          />
        )}
      </OnceOpened>
    </div>
  );
}
