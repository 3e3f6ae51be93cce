import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { BulkOutcome, BulkPlan, BulkStep, Reviewed } from '../../api/bulk.ts';
import { notify } from '../../browser/notices.ts';
import { Badge } from '../../ui/badge.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { Loaded } from '../../ui/states.tsx';
import { Parts } from '../../ui/tables/parts.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, type Speech } from '../../words/words.ts';
import { BULK_WORDS } from './bulk-words.ts';

/** Is the number of steps of one part of the dialog. */
const PART = 50;

interface ReviewDialogProps {
  title: string;
  of: Reviewed;
  onClose: () => void;
  onDone?: () => void;
}

/** Shows what an act on many records would change, row by row; it is done as it was shown, or not at all. */
export function ReviewDialog({ title, of, onClose, onDone }: ReviewDialogProps) {
  const { language } = useSpeech();
  const words = BULK_WORDS[language];
  const [reviewed] = useState(of);
  const plan = useQuery({
    queryKey: ['bulk', 'plan', reviewed],
    queryFn: reviewed.plan,
    staleTime: Infinity,
    gcTime: 0,
  });
  return (
    <Dialog title={title} purpose={words.reviewText} isOpen onClose={onClose} width="wide">
      {({ close }) => (
        <Loaded of={plan}>
          {(found) => (
            <Review
              of={found}
              apply={() => reviewed.apply(found.digest)}
              onCancel={close}
              onDone={() => {
                onDone?.();
                close();
              }}
            />
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

interface ReviewProps {
  of: BulkPlan;
  apply: () => Promise<BulkOutcome>;
  onCancel: () => void;
  onDone: () => void;
}

function Review({ of: { steps }, apply, onCancel, onDone }: ReviewProps) {
  const speech = useSpeech();
  const words = BULK_WORDS[speech.language];
  const [failed, setFailed] = useState<BulkOutcome['failed']>([]);
  const count = (value: number): string => formatCount(value, speech.locale);
  const due = steps.filter(({ blocked_by: reason }) => reason === null).length;
  return (
    <ActForm
      verb={words.apply(count(due))}
      blockedBy={due === 0 || failed.length > 0 ? words.nothing : undefined}
      act={apply}
      onDone={(outcome) => {
        notify({ title: words.applied(count(outcome.applied)) });
        setFailed(outcome.failed);
        if (outcome.failed.length === 0) onDone();
      }}
      onCancel={onCancel}
    >
      {failed.length > 0 && <Failures of={failed} title={words.failed(count(failed.length))} />}
      <Parts of={steps.map((step, index) => ({ ...step, index }))} size={PART}>
        {(part) => (
          <Table
            label={words.review}
            columns={columnsOf(speech)}
            rows={part}
            rowId={({ index }) => index}
          />
        )}
      </Parts>
    </ActForm>
  );
}

function Failures({ of, title }: { of: BulkOutcome['failed']; title: string }) {
  return (
    <div role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-table">
      <p className="font-medium text-bad">{title}</p>
      <ul className="foreign max-h-40 overflow-y-auto">
        {of.map(({ kind, name, message }) => (
          <li key={`${kind} ${name}`}>
            {name}: {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

const TONES = { add: 'good', change: 'accent', remove: 'bad' } as const;

function columnsOf({ language, locale }: Speech): Column<BulkStep>[] {
  const words = BULK_WORDS[language];
  return [
    {
      id: 'what',
      header: words.what,
      cell: ({ action, kind, name, blocked_by: reason }) => (
        <>
          <Badge tone={reason === null ? TONES[action] : 'off'}>
            {words.action[action]} · {words.kind[kind]}
          </Badge>
          <span className="foreign block">{name}</span>
        </>
      ),
    },
    {
      id: 'changes',
      header: words.changes,
      cell: (step) =>
        step.blocked_by === null ? (
          <Changes of={step} locale={locale} />
        ) : (
          <span className="text-text-3">{words.blocks[step.blocked_by]}</span>
        ),
    },
  ];
}

function Changes({
  of: { differences, keys, subscriptions },
  locale,
}: {
  of: BulkStep;
  locale: string;
}) {
  const words = BULK_WORDS[useSpeech().language];
  return (
    <ul className="foreign">
      {differences.map(({ field, from, to }) => (
        <li key={field}>
          <code>{field}</code>: {from === null ? '' : `${from} → `}
          {String(to)}
        </li>
      ))}
      {keys !== null && keys > 0 && <li>{words.keys(formatCount(keys, locale))}</li>}
      {subscriptions !== null && subscriptions > 0 && (
        <li>{words.subscriptions(formatCount(subscriptions, locale))}</li>
      )}
    </ul>
  );
}
