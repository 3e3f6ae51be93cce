import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { TriangleAlert } from '../../ui/icons.tsx';
import { Panel } from '../../ui/page.tsx';
import { useSpeech } from '../../words/words.ts';
import { nearLimitText } from '../keys/near-limit-text.ts';
import { useNearLimits } from '../keys/use-near-limits.ts';

const TITLES = { en: 'Limits of keys', zh: '密钥限额' };

/** Shows the limits of an account's keys that are near or reached; nothing where none is. */
export function NearLimits({ userId }: { userId: number }) {
  const speech = useSpeech();
  const limits = useNearLimits(userId);
  if (limits.length === 0) return null;
  return (
    <Panel title={TITLES[speech.language]}>
      <ul className="flex flex-col gap-2">
        {limits.map((limit) => (
          <li key={limit.key.id} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <TriangleAlert aria-hidden className="size-4 shrink-0 text-warn" />
            <span className="foreign min-w-0 flex-1">{nearLimitText(limit, speech)}</span>
            <TextLink to={paths.adminKey(limit.key.id)}>{speech.words.overview.see}</TextLink>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
