import type { OutcomeName } from '../../api/tables.ts';
import type { UsageLog } from '../../api/usage.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Tooltip } from '../../ui/tooltip.tsx';
import { useWords } from '../../words/words.ts';

/** Neither good nor bad of the gateway or an upstream where it is not named. */
const TONES: Readonly<Partial<Record<OutcomeName, Tone>>> = {
  completed: 'good',
  client_closed: 'off',
  upstream_failed: 'bad',
  upstream_interrupted: 'bad',
  node_lost: 'bad',
};

/** How a request ended, in a word; what that means on hover. */
export function OutcomeBadge({ outcome }: { outcome: UsageLog['outcome'] }) {
  const { tables, usage } = useWords();
  if (outcome === null) return <Badge tone="off">{usage.pending}</Badge>;
  return (
    <Tooltip text={tables.outcomes[outcome].says}>
      <span>
        <Badge tone={TONES[outcome] ?? 'warn'}>{tables.outcomes[outcome].name}</Badge>
      </span>
    </Tooltip>
  );
}
