import type { Key } from '../../api/keys.ts';
import { Badge } from '../../ui/badge.tsx';
import { useNow } from '../../ui/time/time.tsx';
import { useWords } from '../../words/words.ts';

export function KeyStatus({
  of: { status, expires_at: expiresAt, is_temporary: isTemporary },
}: {
  of: Key;
}) {
  const { keys } = useWords();
  const now = useNow();
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= now;
  if (status === 'enabled' && isExpired) return <Badge tone="warn">{keys.statuses.expired}</Badge>;
  if (isTemporary) return <Badge tone="off">{keys.statuses.temporary}</Badge>;
  return <Badge tone={status === 'enabled' ? 'good' : 'off'}>{keys.statuses[status]}</Badge>;
}
