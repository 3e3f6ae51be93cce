import { useState } from 'react';
import type { Column } from '../../ui/tables/table.tsx';
import { useSpeech } from '../../words/words.ts';
import { BULK_WORDS } from './bulk-words.ts';

interface Record {
  id: number;
}

export interface Chosen {
  ids: ReadonlySet<number>;
  choose: (ids: readonly number[]) => void;
}

/** Returns the rows of a list on which one act is done, and the column in which they are chosen. */
export function useChosen<Row extends Record>(
  nameOf: (row: Row) => string,
): Chosen & { column: Column<Row> } {
  const [ids, setIds] = useState<ReadonlySet<number>>(new Set());
  const words = BULK_WORDS[useSpeech().language];
  const toggle = (id: number): void => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    setIds(next);
  };
  return {
    ids,
    choose: (all) => setIds(new Set(all)),
    column: {
      id: 'chosen',
      header: '',
      cell: (row) => (
        <input
          type="checkbox"
          aria-label={words.choose(nameOf(row))}
          checked={ids.has(row.id)}
          onChange={() => toggle(row.id)}
          className="size-4 accent-accent align-middle"
        />
      ),
    },
  };
}
