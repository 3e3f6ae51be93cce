import { moveUser, type ListedUser, type User } from '../../api/users.ts';
import { useAct } from '../../ui/forms/act.ts';
import type { useActedRows } from '../../ui/tables/acted-rows.ts';
import { Button } from '../../ui/forms/button.tsx';
import { useWords } from '../../words/words.ts';

export type Acted = Omit<ReturnType<typeof useActedRows<ListedUser>>, 'shown'>;

/** Approves or rejects. The buttons stay where they were pressed, so that a second click there does nothing. */
export function PendingActs({ of: user, acted }: { of: ListedUser; acted: Acted }) {
  const { admin } = useWords();
  const { users } = admin;
  const done = ({ username, status }: User): string => users.done(username, users.statuses[status]);
  const { isBusy, run } = useAct({
    act: async (move: 'approve' | 'reject') => {
      const moved = await moveUser(user.id, move);
      acted.keep({ ...user, ...moved });
      return moved;
    },
    done,
  });
  if (user.status !== 'pending' && !acted.isActed(user)) return null;
  const blockedBy = user.status === 'pending' ? undefined : done(user);
  return (
    <span className="inline-flex gap-2">
      <Button
        size="small"
        look="primary"
        isBusy={isBusy}
        blockedBy={blockedBy}
        onClick={() => run('approve')}
      >
        {users.approve}
      </Button>
      <Button size="small" isBusy={isBusy} blockedBy={blockedBy} onClick={() => run('reject')}>
        {users.reject}
      </Button>
    </span>
  );
}
