import { useWords } from '../words/words.ts';
import { CopyText } from './copy.tsx';

/** Shows what to quote to an operator, who finds it in the log. */
export function RequestId({ id }: { id: string }) {
  const { general } = useWords();
  return (
    <p className="mt-1 flex flex-wrap items-center gap-1 text-tiny text-text-2">
      {general.requestId} <CopyText text={id} label={general.requestId} />
    </p>
  );
}
