import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

/** Shows the configuration that a node runs, and how many versions it is behind. */
export function NodeVersion({ version, newest }: { version: number | null; newest: number }) {
  const { words, locale } = useSpeech();
  const { nodes } = words.admin;
  if (version === null) return '–';
  const behind = newest - version;
  return (
    <span className="tabular whitespace-nowrap">
      {formatCount(version, locale)}{' '}
      <span className={behind > 0 ? 'text-warn' : 'text-text-3'}>
        {behind > 0 ? nodes.lag(formatCount(behind, locale)) : nodes.current}
      </span>
    </span>
  );
}
