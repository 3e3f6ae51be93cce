import {
  addCredential,
  deleteCredential,
  updateCredential,
  type Credential,
  type UpstreamDetail,
} from '../../api/upstreams.ts';
import { ConfirmDialog, FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';
import { CredentialFields, credentialOf } from './credential-fields.tsx';
import { TestDialog } from './upstream-dialogs.tsx';

/** `of` is absent for a new credential. */
export interface OpenCredential {
  dialog: 'add' | 'edit' | 'test' | 'delete';
  of?: Credential;
}

interface CredentialDialogsProps {
  of: UpstreamDetail;
  open: OpenCredential | undefined;
  onClose: () => void;
}

/** Shows what is done with one credential of an upstream. */
export function CredentialDialogs({ of: upstream, open, onClose }: CredentialDialogsProps) {
  const { upstreams, credentials: words } = useWords().admin;
  const { dialog, of } = open ?? {};
  const name = of?.name ?? words.own;
  return (
    <>
      <CredentialForm
        upstream={upstream}
        isOpen={dialog === 'add' || dialog === 'edit'}
        onClose={onClose}
        {...(of && { of })}
      />
      <TestDialog
        of={{ id: upstream.id, name: `${upstream.name}, ${name}` }}
        isOpen={dialog === 'test'}
        onClose={onClose}
        {...(of && { credentialId: of.id })}
      />
      <ConfirmDialog
        title={`${upstreams.remove}: ${name}`}
        text={words.removeText}
        verb={upstreams.remove}
        isOpen={dialog === 'delete'}
        onClose={onClose}
        act={async () => of && deleteCredential(of)}
        done={() => upstreams.removed(name)}
      />
    </>
  );
}

const DECLARED = ['rpm', 'tpm'] as const;

function declared(text = ''): number | null {
  return text === '' ? null : Number(text);
}

interface CredentialFormProps {
  upstream: UpstreamDetail;
  of?: Credential;
  isOpen: boolean;
  onClose: () => void;
}

function CredentialForm({ upstream, of, isOpen, onClose }: CredentialFormProps) {
  const { upstreams, credentials: words } = useWords().admin;
  return (
    <FormDialog
      title={of ? upstreams.edit : words.add}
      purpose={of ? `${upstream.name}, ${of.name ?? words.own}` : upstream.name}
      verb={of ? upstreams.edit : words.add}
      draft={`credential ${of?.id ?? ''}`}
      isOpen={isOpen}
      onClose={onClose}
      act={({ name = '', weight = '1', rpm, tpm, ...values }) => {
        const given = {
          ...{ weight: Number(weight), rpm: declared(rpm), tpm: declared(tpm) },
          ...credentialOf(values),
        };
        if (!of) return addCredential(upstream.id, { name, ...given });
        return updateCredential(of, of.id === 0 ? given : { name, ...given });
      }}
      done={() => upstreams.saved}
    >
      {of?.id !== 0 && (
        <TextField name="name" label={upstreams.name} defaultValue={of?.name ?? ''} required />
      )}
      <ShareFields {...(of && { of })} />
      <CredentialFields
        protocol={upstream.protocol}
        help={of ? words.keyHelp : upstreams.keyHelp}
        isRequired={!of}
      />
    </FormDialog>
  );
}

/** Asks for the share of requests, and for what the provider lets the credential send. */
function ShareFields({ of }: { of?: Credential }) {
  const { admin, tables } = useWords();
  const { credentials: words } = admin;
  return (
    <>
      <TextField
        name="weight"
        label={words.weight}
        help={words.weightHelp}
        type="number"
        min={1}
        max={1000}
        defaultValue={of?.weight ?? 1}
      />
      {DECLARED.map((name) => (
        <TextField
          key={name}
          name={name}
          label={tables.limits[name].name}
          help={words.declaredHelp}
          type="number"
          min={1}
          defaultValue={of?.[name] ?? ''}
        />
      ))}
    </>
  );
}
