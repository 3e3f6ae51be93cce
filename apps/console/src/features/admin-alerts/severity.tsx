import type { Alert } from '../../api/admin.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { useWords } from '../../words/words.ts';

const TONES: Readonly<Record<Alert['severity'], Tone>> = {
  info: 'accent',
  warning: 'warn',
  critical: 'bad',
};

export function SeverityBadge({ of: severity }: { of: Alert['severity'] }) {
  const { admin } = useWords();
  return <Badge tone={TONES[severity]}>{admin.alerts.severities[severity]}</Badge>;
}
