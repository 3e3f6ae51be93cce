import type { User } from '../../api/users.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { useWords } from '../../words/words.ts';

const TONES: Readonly<Record<User['status'], Tone>> = {
  pending: 'warn',
  active: 'good',
  rejected: 'off',
  frozen: 'bad',
  deleted: 'off',
};

export function UserStatus({ of: { status } }: { of: User }) {
  const { admin } = useWords();
  return <Badge tone={TONES[status]}>{admin.users.statuses[status]}</Badge>;
}
