import { useQuery } from '@tanstack/react-query';
import { ceilingsQuery, setCeilings } from '../../api/admin.ts';
import { setAccountCeilings, type User } from '../../api/users.ts';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

type Limits = Record<'rpm' | 'rph' | 'rpd', number | null>;

/** Of an account: an empty field leaves the installation's in force. */
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
      act={({ rpm, rph, rpd }) =>
        setAccountCeilings(user.id, {
          rpm_ceiling: read(rpm),
          rph_ceiling: read(rph),
          rpd_ceiling: read(rpd),
        })
      }
      done={() => users.ceilingsSet}
    >
      <CeilingFields of={{ rpm: user.rpm_ceiling, rph: user.rph_ceiling, rpd: user.rpd_ceiling }} />
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
      act={({ rpm, rph, rpd }) =>
        setCeilings({ rpm: read(rpm) ?? 0, rph: read(rph) ?? 0, rpd: read(rpd) ?? 0 })
      }
      done={() => users.ceilingsSet}
    >
      <CeilingFields of={data} />
    </FormDialog>
  );
}

function CeilingFields({ of: limits }: { of: Limits }) {
  const { keys } = useWords();
  return (
    <div className="grid grid-cols-3 gap-3 max-sm:grid-cols-1">
      {(['rpm', 'rph', 'rpd'] as const).map((name) => (
        <TextField
          key={name}
          name={name}
          label={keys[name]}
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
