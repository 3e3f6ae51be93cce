import { Ago } from '../../ui/time/time.tsx';
import { useSpeech } from '../../words/words.ts';
import { FIGURE_WORDS } from './figure-words.ts';

/** Shows a time in words, or says that there was none. */
export function AgoOrNever({ at }: { at: string | null }) {
  const { never } = FIGURE_WORDS[useSpeech().language];
  return at === null ? <span className="text-text-3">{never}</span> : <Ago at={at} />;
}
