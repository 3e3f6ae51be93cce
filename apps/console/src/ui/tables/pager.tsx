import { ChevronLeft, ChevronRight } from '../icons.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { Button } from '../forms/button.tsx';
import { formatCount } from '../format.ts';

/** Says below a list that is paged by number which rows of how many it shows, and leads to the others. */
export function Pager({
  page,
  pageSize,
  total,
  text,
  onPage,
}: {
  page: number;
  pageSize: number;
  total: number;
  /** Replaces the text about the shown rows. */
  text?: string;
  onPage: (page: number) => void;
}) {
  const { words, locale } = useSpeech();
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (total === 0) return null;
  const count = (value: number): string => formatCount(value, locale);
  const from = (page - 1) * pageSize + 1;
  return (
    <footer className="flex items-center justify-end gap-3 border-t border-line px-4 py-2 text-table text-text-2">
      <span className="tabular">
        {text ??
          words.general.rows(count(from), count(Math.min(total, page * pageSize)), count(total))}
      </span>
      {pages > 1 && <Turns page={page} pages={pages} onPage={onPage} />}
    </footer>
  );
}

interface TurnsProps {
  page: number;
  pages: number;
  onPage: (page: number) => void;
}

function Turns({ page, pages, onPage }: TurnsProps) {
  const { general } = useWords();
  return (
    <>
      <Button
        size="small"
        icon={<ChevronLeft aria-hidden className="size-4" />}
        className={page <= 1 ? 'invisible' : ''}
        onClick={() => onPage(page - 1)}
      >
        {general.previous}
      </Button>
      <Button
        size="small"
        className={page >= pages ? 'invisible' : ''}
        onClick={() => onPage(page + 1)}
      >
        {general.next}
        <ChevronRight aria-hidden className="size-4" />
      </Button>
    </>
  );
}
