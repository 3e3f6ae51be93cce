import { useQuery } from '@tanstack/react-query';
import { ceilingsQuery, setCeilings } from '../../api/admin.ts';
import { readRateText, toRateText } from '../keys/rate-text.ts';
import { KEY_LIMITS, ceilingValues, limitValues, type LimitName } from '../../api/tables.ts';
import { setAccountCeilings, type User } from '../../api/users.ts';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

type Limits = Readonly<Record<LimitName, number | null>>;

/** Sets the ceilings of an account. An empty field leaves the installation's in force. */
export function AccountCeilings({ of: user, onClose }: { of: User; onClose: () => void }) {
  const { admin } = useWords();
  const { users } = admin;
  return (
    <FormDialog
      title={`${users.ceilings}: ${user.username}`}
      purpose={users.accountCeilingsText}
      verb={users.ceilings}
      isOpen
      onClose={onClose}
      act={(values) =>
        setAccountCeilings(user.id, {
          ...ceilingValues((name) => read(values[`${name}_ceiling`])),
          rates: readRateText(values.rates ?? '', user.rates),
        })
      }
      done={() => users.ceilingsSet}
    >
      <CeilingFields of={limitValues((name) => user[`${name}_ceiling`])} suffix="_ceiling" />
      <TextField
        name="rates"
        label={users.rates}
        help={users.ratesHelp}
        defaultValue={toRateText(user.rates)}
        autoComplete="off"
      />
    </FormDialog>
  );
}

export function InstallationCeilings({ onClose }: { onClose: () => void }) {
  const { admin } = useWords();
  const { users } = admin;
  const { data } = useQuery(ceilingsQuery);
  if (!data) return null;
  return (
    <FormDialog
      title={users.ceilings}
      purpose={users.ceilingsText}
      verb={users.ceilings}
      isOpen
      onClose={onClose}
      act={(values) => setCeilings(limitValues((name) => read(values[name]) ?? 0))}
      done={() => users.ceilingsSet}
    >
      <CeilingFields of={data} />
    </FormDialog>
  );
}

/** `suffix` ends the names that the server gives the fields. */
function CeilingFields({ of: limits, suffix = '' }: { of: Limits; suffix?: string }) {
  const { tables } = useWords();
  return (
    <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
      {KEY_LIMITS.map(({ name }) => (
        <TextField
          key={name}
          name={`${name}${suffix}`}
          label={tables.limits[name].name}
          type="number"
          min={0}
          defaultValue={limits[name] ?? ''}
        />
      ))}
    </div>
  );
}

function read(value: string | undefined): number | null {
  return value === undefined || value.trim() === '' ? null : Number(value);
}
