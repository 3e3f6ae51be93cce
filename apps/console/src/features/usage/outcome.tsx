import type { RefusedRequest } from '../../api/incidents.ts';
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

/** Says in a few words how a request ended: the status that the client saw, and why. Explains it on hover. */
export function OutcomeBadge({ of: row }: { of: Pick<UsageLog, 'outcome' | 'status' | 'route'> }) {
  const { tables, usage } = useWords();
  const { outcome, status } = row;
  if (outcome === null) return <Badge tone="off">{usage.pending}</Badge>;
  const { name, says } = tables.outcomes[outcome];
  const parts = outcome === 'completed' ? [name] : [status, name, upstreamsWord(row)];
  return (
    <Tooltip text={says}>
      <span>
        <Badge tone={TONES[outcome] ?? 'warn'}>
          {parts.filter((part) => part !== null).join(' ')}
        </Badge>
      </span>
    </Tooltip>
  );
}

/** Administrators see what the last upstream answered, or why it gave none. */
function upstreamsWord({ route }: Pick<UsageLog, 'route'>): string | null {
  const last = route.findLast(({ error }) => error !== undefined);
  return last?.error === undefined ? null : `(${last.status ?? last.error})`;
}

/** Shows status and reason of a refusal, as the client got them. */
export function RefusalBadge({ of: { status, code } }: { of: RefusedRequest }) {
  return (
    <Badge tone={status >= 500 ? 'bad' : 'warn'}>
      {status} {code}
    </Badge>
  );
}
