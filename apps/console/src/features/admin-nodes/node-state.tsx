import type { ProxyNode } from '../../api/fleet.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { useWords } from '../../words/words.ts';

const TONES: Readonly<Record<ProxyNode['state'], Tone>> = {
  online: 'good',
  draining: 'warn',
  stopped: 'off',
  disabled: 'off',
  offline: 'bad',
};

export function NodeState({ of: { state } }: { of: Pick<ProxyNode, 'state'> }) {
  const { admin } = useWords();
  return <Badge tone={TONES[state]}>{admin.nodes.states[state]}</Badge>;
}
