import type { UsageLog } from '../../api/usage.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Tooltip } from '../../ui/tooltip.tsx';
import { useWords } from '../../words/words.ts';

const TONES: Readonly<Record<NonNullable<UsageLog['outcome']>, Tone>> = {
  completed: 'good',
  client_closed: 'off',
  upstream_failed: 'bad',
  upstream_interrupted: 'bad',
  balance_exhausted: 'warn',
  access_revoked: 'warn',
  node_stopped: 'warn',
  node_lost: 'bad',
};

/** How a request ended, in a word; what that means on hover. */
export function OutcomeBadge({ outcome }: { outcome: UsageLog['outcome'] }) {
  const { usage } = useWords();
  if (outcome === null) return <Badge tone="off">{usage.pending}</Badge>;
  return (
    <Tooltip text={usage.outcomeHelp[outcome]}>
      <span>
        <Badge tone={TONES[outcome]}>{usage.outcomes[outcome]}</Badge>
      </span>
    </Tooltip>
  );
}
