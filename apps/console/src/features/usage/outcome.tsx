import type { RefusedRequest } from '../../api/incidents.ts';
import { OUTCOMES, type OutcomeName } from '../../api/tables.ts';
import type { UsageLog } from '../../api/usage.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Tooltip } from '../../ui/tooltip.tsx';
import { useWords } from '../../words/words.ts';

/** An outcome that is not named here is a failure, or a warning. */
const TONES: Readonly<Partial<Record<OutcomeName, Tone>>> = {
  completed: 'good',
  client_closed: 'off',
};
const FAILED: ReadonlySet<OutcomeName> = new Set(
  OUTCOMES.filter((row) => row.is_failure).map(({ name }) => name),
);

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
        <Badge tone={TONES[outcome] ?? (FAILED.has(outcome) ? 'bad' : 'warn')}>
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
