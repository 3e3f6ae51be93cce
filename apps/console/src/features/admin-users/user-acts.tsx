import { Ellipsis } from '../../ui/icons.tsx';
import { useState } from 'react';
import { moveUser, setRole, type User } from '../../api/users.ts';
import { useMe } from '../../api/session.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Button } from '../../ui/forms/button.tsx';
import { Menu, type MenuAct } from '../../ui/menu.tsx';
import { useWords } from '../../words/words.ts';
import { AccountCeilings } from './ceilings.tsx';
import { ResetPasswordDialog } from './one-time-password.tsx';
import { DeleteUser, FreezeUser, WalletDialog, type WalletAct } from './user-dialogs.tsx';

type Open = WalletAct | 'ceilings' | 'freeze' | 'password' | 'delete' | undefined;

/** Shows what an administrator does with an account: what is next as a button, all else behind one. */
export function UserActs({ of: user }: { of: User }) {
  const { admin, general } = useWords();
  const { users } = admin;
  const [open, setOpen] = useState<Open>();
  const done = (changed: User): string =>
    users.done(changed.username, users.statuses[changed.status]);
  const move = useAct({
    act: (next: Move) => moveUser(user.id, next),
    done,
  });
  const acts = [
    ...(user.status === 'pending'
      ? [{ label: users.reject, onAct: () => move.run('reject') }]
      : []),
    ...useMenuActs(user, setOpen),
  ];
  return (
    <>
      <MainAct
        of={user}
        isBusy={move.isBusy}
        onMove={move.run}
        onRecharge={() => setOpen('recharge')}
      />
      {acts.length > 0 && (
        <Menu
          trigger={
            <Button icon={<Ellipsis aria-hidden className="size-4" />}>{general.more}</Button>
          }
          acts={acts}
        />
      )}
      <UserDialogs of={user} open={open} onClose={() => setOpen(undefined)} done={done} />
    </>
  );
}

type Move = 'approve' | 'reject' | 'unfreeze';

interface MainActProps {
  of: User;
  isBusy: boolean;
  onMove: (next: Move) => void;
  onRecharge: () => void;
}

function MainAct({ of: user, isBusy, onMove, onRecharge }: MainActProps) {
  const { users } = useWords().admin;
  return (
    <>
      {(user.status === 'pending' || user.status === 'rejected') && (
        <Button look="primary" isBusy={isBusy} onClick={() => onMove('approve')}>
          {users.approve}
        </Button>
      )}
      {user.status === 'frozen' && (
        <Button look="primary" isBusy={isBusy} onClick={() => onMove('unfreeze')}>
          {users.unfreeze}
        </Button>
      )}
      {user.status === 'active' && (
        <Button look="primary" onClick={onRecharge}>
          {users.recharge}
        </Button>
      )}
    </>
  );
}

interface UserDialogsProps {
  of: User;
  open: Open | undefined;
  onClose: () => void;
  done: (changed: User) => string;
}

function UserDialogs({ of: user, open, onClose, done }: UserDialogsProps) {
  return (
    <>
      {(open === 'recharge' || open === 'adjust' || open === 'withdraw') && (
        <WalletDialog of={user} act={open} onClose={onClose} />
      )}
      {open === 'freeze' && <FreezeUser of={user} onClose={onClose} done={done} />}
      {open === 'ceilings' && <AccountCeilings of={user} onClose={onClose} />}
      {open === 'password' && <ResetPasswordDialog of={user} onClose={onClose} />}
      {open === 'delete' && <DeleteUser of={user} onClose={onClose} />}
    </>
  );
}

/** An administrator's own account is changed in its settings, never here. */
function useMenuActs(user: User, open: (what: Open) => void): MenuAct[] {
  const { admin } = useWords();
  const { users } = admin;
  const me = useMe();
  const role = useAct({
    act: (next: User['role']) => setRole(user.id, next),
    done: (changed) => users.done(changed.username, users.roles[changed.role]),
  });
  const isOther = user.id !== me.id;
  const isActive = user.status === 'active';
  const hasWallet = isActive || user.status === 'frozen';
  const entry = (label: string, onAct: () => void): MenuAct => ({ label, onAct });
  return [
    ...(user.status === 'frozen' ? [entry(users.recharge, () => open('recharge'))] : []),
    ...(hasWallet
      ? [entry(users.adjust, () => open('adjust')), entry(users.withdraw, () => open('withdraw'))]
      : []),
    ...(hasWallet ? [entry(users.ceilings, () => open('ceilings'))] : []),
    ...(isActive && isOther
      ? [
          entry(users.resetPassword, () => open('password')),
          entry(user.role === 'admin' ? users.makeUser : users.makeAdmin, () =>
            role.run(user.role === 'admin' ? 'user' : 'admin'),
          ),
          entry(users.freeze, () => open('freeze')),
        ]
      : []),
    ...(isOther ? [{ ...entry(users.remove, () => open('delete')), isDanger: true }] : []),
  ];
}
