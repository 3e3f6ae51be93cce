import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { newIdempotencyKey } from '../../api/client.ts';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import {
  adjustWallet,
  deleteUser,
  moveUser,
  rechargeUser,
  withdrawFromWallet,
  type PayOutTo,
  type User,
} from '../../api/users.ts';
import { walletQuery } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { ConfirmDialog, FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/forms/field.tsx';
import { formatCount, formatMoney } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { useTypedName } from './typed-name.tsx';

export type WalletAct = 'recharge' | 'adjust' | 'withdraw';
const SEND = { recharge: rechargeUser, adjust: adjustWallet };

interface WalletDialogProps {
  of: User;
  act: WalletAct;
  onClose: () => void;
}

/** Moves money of an account for an administrator: in, corrected, or paid out. */
export function WalletDialog({ of: user, act, onClose }: WalletDialogProps) {
  const { words, locale } = useSpeech();
  const { users } = words.admin;
  const { data: wallet } = useQuery(walletQuery(user.id));
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [to, setTo] = useState<PayOutTo>('hand');
  const holds = wallet && formatMoney(wallet.balance, { currency: wallet.currency, locale });
  return (
    <FormDialog
      title={`${users[act]}: ${user.username}`}
      purpose={holds === undefined ? undefined : users.holds(holds)}
      verb={users[act]}
      isOpen
      onClose={onClose}
      act={({ amount = '', note = '' }) => {
        const movement = { user_id: user.id, amount: amount.trim(), note, idempotencyKey };
        return act === 'withdraw' ? withdrawFromWallet({ ...movement, to }) : SEND[act](movement);
      }}
      done={({ balance, currency }) => users.recharged(formatMoney(balance, { currency, locale }))}
    >
      {act === 'withdraw' && <PayOutField to={to} onChange={setTo} />}
      <TextField
        name="amount"
        label={users.amount}
        {...(act === 'adjust' && { help: users.adjustHelp })}
        unit={wallet?.currency}
        inputMode="decimal"
        required
        autoComplete="off"
      />
      <TextField
        name="note"
        label={users.note}
        help={act === 'withdraw' ? users.withdrawHelp[to] : users.noteHelp}
        required={act !== 'recharge'}
        autoComplete="off"
      />
    </FormDialog>
  );
}

function PayOutField({ to, onChange }: { to: PayOutTo; onChange: (to: PayOutTo) => void }) {
  const { users } = useWords().admin;
  return (
    <SelectField
      name="to"
      label={users.payOutTo}
      help={users.payOutHelp[to]}
      value={to}
      onChange={({ currentTarget }) =>
        onChange(currentTarget.value === 'provider' ? 'provider' : 'hand')
      }
      options={[
        { value: 'hand', label: users.payOutBy.hand },
        { value: 'provider', label: users.payOutBy.provider },
      ]}
    />
  );
}

export function FreezeUser({
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

export function DeleteUser({ of: user, onClose }: { of: User; onClose: () => void }) {
  const { words, locale } = useSpeech();
  const { users } = words.admin;
  const navigate = useNavigate();
  const { data: wallet } = useQuery(walletQuery(user.id));
  const { data: subscriptions } = useQuery(subscriptionsQuery(user.id));
  const { blockedBy, nameField } = useTypedName(user);
  const balance = wallet ? formatMoney(wallet.balance, { currency: wallet.currency, locale }) : '–';
  return (
    <ConfirmDialog
      title={`${users.remove}: ${user.username}`}
      text={users.removeText(balance, formatCount(subscriptions?.length ?? 0, locale))}
      verb={users.remove}
      isOpen
      onClose={onClose}
      act={({ forfeit }) => deleteUser(user.id, forfeit === 'on')}
      blockedBy={blockedBy}
      done={() => users.removed(user.username)}
      onDone={() => navigate({ to: paths.adminUsers() })}
    >
      <CheckField name="forfeit" label={users.forfeit} help={users.forfeitHelp} />
      {nameField}
    </ConfirmDialog>
  );
}
