import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { deleteUser, moveUser, rechargeUser, setRole, type User } from '../../api/users.ts';
import { newIdempotencyKey } from '../../api/client.ts';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { walletQuery } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { useAct } from '../../ui/act.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog } from '../../ui/confirm-dialog.tsx';
import { CheckField, TextField } from '../../ui/field.tsx';
import { formatCount, formatMoney } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';

type Open = 'recharge' | 'freeze' | 'delete' | undefined;

/** What an administrator does with an account. */
export function UserActs({ of: user }: { of: User }) {
  const { admin } = useWords();
  const { users } = admin;
  const me = useMe();
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const done = (changed: User): string =>
    users.done(changed.username, users.statuses[changed.status]);
  const move = useAct({
    act: (next: 'approve' | 'reject' | 'unfreeze') => moveUser(user.id, next),
    done,
  });
  const role = useAct({
    act: (next: User['role']) => setRole(user.id, next),
    done: (changed) => users.done(changed.username, users.roles[changed.role]),
  });
  const blockedBy = user.id === me.id ? users.ownAccount : undefined;
  const isOpen = user.status === 'active' || user.status === 'frozen';
  return (
    <>
      {(user.status === 'pending' || user.status === 'rejected') && (
        <Button look="primary" isBusy={move.isBusy} onClick={() => move.run('approve')}>
          {users.approve}
        </Button>
      )}
      {user.status === 'pending' && (
        <Button isBusy={move.isBusy} onClick={() => move.run('reject')}>
          {users.reject}
        </Button>
      )}
      {isOpen && (
        <Button look="primary" onClick={() => setOpen('recharge')}>
          {users.recharge}
        </Button>
      )}
      {user.status === 'active' && (
        <Button blockedBy={blockedBy} onClick={() => setOpen('freeze')}>
          {users.freeze}
        </Button>
      )}
      {user.status === 'frozen' && (
        <Button isBusy={move.isBusy} onClick={() => move.run('unfreeze')}>
          {users.unfreeze}
        </Button>
      )}
      {user.status === 'active' && (
        <Button
          isBusy={role.isBusy}
          blockedBy={blockedBy}
          onClick={() => role.run(user.role === 'admin' ? 'user' : 'admin')}
        >
          {user.role === 'admin' ? users.makeUser : users.makeAdmin}
        </Button>
      )}
      <Button look="danger" blockedBy={blockedBy} onClick={() => setOpen('delete')}>
        {users.remove}
      </Button>
      {open === 'recharge' && <RechargeUser of={user} onClose={close} />}
      {open === 'freeze' && <FreezeUser of={user} onClose={close} done={done} />}
      {open === 'delete' && <DeleteUser of={user} onClose={close} />}
    </>
  );
}

function RechargeUser({ of: user, onClose }: { of: User; onClose: () => void }) {
  const { words, locale } = useSpeech();
  const { users } = words.admin;
  const { data: wallet } = useQuery(walletQuery(user.id));
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <FormDialog
      title={users.recharge}
      purpose={user.username}
      verb={users.recharge}
      isOpen
      onClose={onClose}
      act={({ amount = '', note = '' }) =>
        rechargeUser({ user_id: user.id, amount, note, idempotencyKey })
      }
      done={({ balance, currency }) => users.recharged(formatMoney(balance, { currency, locale }))}
    >
      <TextField
        name="amount"
        label={users.amount}
        unit={wallet?.currency}
        inputMode="decimal"
        required
        autoComplete="off"
      />
      <TextField name="note" label={users.note} help={users.noteHelp} autoComplete="off" />
    </FormDialog>
  );
}

function FreezeUser({
  of: user,
  onClose,
  done,
}: {
  of: User;
  onClose: () => void;
  done: (user: User) => string;
}) {
  const { words, locale } = useSpeech();
  const { users } = words.admin;
  const { data: keys } = useQuery(keysQuery({ user_id: user.id, status: 'enabled' }));
  return (
    <ConfirmDialog
      title={`${users.freeze}: ${user.username}`}
      text={users.freezeText(keys ? formatCount(keys.total, locale) : '–')}
      verb={users.freeze}
      isOpen
      onClose={onClose}
      act={() => moveUser(user.id, 'freeze')}
      done={done}
    />
  );
}

function DeleteUser({ of: user, onClose }: { of: User; onClose: () => void }) {
  const { words, locale } = useSpeech();
  const { users } = words.admin;
  const navigate = useNavigate();
  const { data: wallet } = useQuery(walletQuery(user.id));
  const { data: subscriptions } = useQuery(subscriptionsQuery(user.id));
  const [typed, setTyped] = useState('');
  const balance = wallet ? formatMoney(wallet.balance, { currency: wallet.currency, locale }) : '–';
  return (
    <ConfirmDialog
      title={`${users.remove}: ${user.username}`}
      text={users.removeText(balance, formatCount(subscriptions?.length ?? 0, locale))}
      verb={users.remove}
      isOpen
      onClose={onClose}
      act={({ forfeit }) => {
        if (typed !== user.username) throw new Error(users.typeName(user.username));
        return deleteUser(user.id, forfeit === 'on');
      }}
      done={() => users.removed(user.username)}
      onDone={() => void navigate({ to: paths.adminUsers() })}
    >
      <CheckField name="forfeit" label={users.forfeit} help={users.forfeitHelp} />
      <TextField
        name="confirmation"
        label={users.typeName(user.username)}
        autoComplete="off"
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </ConfirmDialog>
  );
}
