import { useCallback } from 'react';
import type { Group } from '../../api/usage.ts';
import { useWords } from '../../words/words.ts';

/** Returns what a group is called; what is deleted keeps its number. */
export function useGroupName(
  group: Group | null,
): (of: { id: number | null; name: string | null }) => string {
  const { usage } = useWords();
  return useCallback(
    ({ id, name }) =>
      name ?? (group === null ? usage.total : usage.unknownName(id === null ? '–' : String(id))),
    [group, usage],
  );
}
