import { ChevronRight, ChevronsLeft } from '../icons.tsx';
import { useWords } from '../../words/words.ts';
import { Button } from '../forms/button.tsx';

/** Stands below a list that is read by cursor and leads back to the newest and on to the older rows; shows nothing where one page holds all of it. */
export function CursorPager({
  cursor,
  next,
  onCursor,
}: {
  cursor: string | undefined;
  next: string | null | undefined;
  onCursor: (cursor: string | undefined) => void;
}) {
  const { general } = useWords();
  if (cursor === undefined && !next) return null;
  return (
    <footer className="flex justify-end gap-2 border-t border-line px-4 py-2">
      {cursor !== undefined && (
        <Button
          size="small"
          icon={<ChevronsLeft aria-hidden className="size-4" />}
          onClick={() => onCursor(undefined)}
        >
          {general.newest}
        </Button>
      )}
      {next && (
        <Button size="small" onClick={() => onCursor(next)}>
          {general.older}
          <ChevronRight aria-hidden className="size-4" />
        </Button>
      )}
    </footer>
  );
}
