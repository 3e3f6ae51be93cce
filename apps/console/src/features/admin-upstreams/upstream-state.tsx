import type { Upstream } from '../../api/upstreams.ts';
import { Badge } from '../../ui/badge.tsx';
import { useWords } from '../../words/words.ts';

export function UpstreamState({ of: { enabled } }: { of: Upstream }) {
  const { admin } = useWords();
  const { upstreams } = admin;
  return (
    <Badge tone={enabled ? 'good' : 'off'}>
      {enabled ? upstreams.enabled : upstreams.disabled}
    </Badge>
  );
}
