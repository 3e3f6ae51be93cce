import { Ago } from '../../ui/time/time.tsx';
import { useWords } from '../../words/words.ts';

/** A time in words, or that there was none. */
export function AgoOrNever({ at }: { at: string | null }) {
  const { users } = useWords().admin;
  return at === null ? <span className="text-text-3">{users.never}</span> : <Ago at={at} />;
}
