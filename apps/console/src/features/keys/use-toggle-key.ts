import { useMutation, useQueryClient } from '@tanstack/react-query';
import { failureOf } from '../../api/failure.ts';
import { disableKey, enableKey, type Key } from '../../api/keys.ts';
import { notify } from '../../browser/notices.ts';
import { useWords } from '../../words/words.ts';

/** Enables or disables; takes effect on every node with the next request. */
export function useToggleKey(key: Key): () => void {
  const words = useWords();
  const queries = useQueryClient();
  const { mutate } = useMutation({
    mutationFn: () => (key.status === 'enabled' ? disableKey(key.id) : enableKey(key.id)),
    onSuccess: async ({ name, status }) => {
      const { enabled, disabled } = words.keys;
      notify({ title: status === 'enabled' ? enabled(name) : disabled(name) });
      await queries.invalidateQueries({ queryKey: ['keys'] });
    },
    onError: (error) => notify({ ...failureOf(error, words), isBad: true }),
  });
  return () => mutate();
}
