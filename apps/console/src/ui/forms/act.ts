import { useMutation, useQueryClient } from '@tanstack/react-query';
import { failureOf } from '../../api/failure.ts';
import { notify } from '../../browser/notices.ts';
import { useWords } from '../../words/words.ts';

/** Performs an act behind one button: says what was done or why not, and refreshes what is on screen. */
export function useAct<Input, Answer>({
  act,
  done,
}: {
  act: (input: Input) => Promise<Answer>;
  done: (answer: Answer, input: Input) => string;
}): { isBusy: boolean; run: (input: Input) => void } {
  const words = useWords();
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: act,
    onSuccess: async (answer: Answer, input: Input) => {
      notify({ title: done(answer, input) });
      await queries.invalidateQueries();
    },
    onError: (error) => notify({ ...failureOf(error, words), isBad: true }),
  });
  return { isBusy: isPending, run: mutate };
}
