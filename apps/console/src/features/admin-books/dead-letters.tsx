import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { bookDeadLetter, deadLettersQuery, dismissDeadLetter } from '../../api/admin.ts';
import type { Shape } from '../../api/client.ts';
import { Button } from '../../ui/forms/button.tsx';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';

type DeadLetter = Shape<'DeadLetter'>;

/** Shows usage that could not be booked, for a person to decide about. */
export function DeadLetters() {
  const { admin } = useWords();
  const { books } = admin;
  const list = useQuery(deadLettersQuery('open'));
  return (
    <Panel title={books.deadLetters} note={books.deadLettersText} isFlush>
      <Loaded of={list}>
        {({ data }) => (
          <Table
            label={books.deadLetters}
            columns={columnsOf(admin)}
            rows={data}
            rowId={({ id }) => id}
            empty={<EmptyState title={books.noDeadLetters} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function columnsOf({ activity, books }: Words['admin']): Column<DeadLetter>[] {
  return [
    { id: 'at', header: activity.at, cell: ({ created_at: at }) => <Ago at={at} /> },
    {
      id: 'rid',
      header: books.request,
      from: 'md',
      cell: ({ rid }) => <code className="foreign">{rid}</code>,
    },
    {
      id: 'reason',
      header: books.reason,
      cell: ({ reason }) => <span className="foreign line-clamp-2">{reason}</span>,
    },
    {
      id: 'tokens',
      header: books.tokens,
      align: 'right',
      cell: ({ delta }) => <span className="foreign tabular">{delta}</span>,
    },
    { id: 'acts', header: '', align: 'right', cell: (letter) => <LetterActs of={letter} /> },
  ];
}

function LetterActs({ of: letter }: { of: DeadLetter }) {
  const { admin } = useWords();
  const { books } = admin;
  const [open, setOpen] = useState<'book' | 'dismiss'>();
  const isBooking = open === 'book';
  return (
    <span className="inline-flex gap-2">
      <Button size="small" onClick={() => setOpen('book')}>
        {books.bookAgain}
      </Button>
      <Button size="small" onClick={() => setOpen('dismiss')}>
        {books.dismiss}
      </Button>
      {open !== undefined && (
        <FormDialog
          title={isBooking ? books.bookAgain : books.dismiss}
          purpose={letter.reason}
          verb={isBooking ? books.bookAgain : books.dismiss}
          isOpen
          onClose={() => setOpen(undefined)}
          act={({ note = '' }) =>
            isBooking ? bookDeadLetter(letter.id, note) : dismissDeadLetter(letter.id, note)
          }
          done={() => (isBooking ? books.booked : books.dismissed)}
        >
          <TextField
            name="note"
            label={books.note}
            help={books.noteHelp}
            required={!isBooking}
            autoComplete="off"
          />
        </FormDialog>
      )}
    </span>
  );
}
