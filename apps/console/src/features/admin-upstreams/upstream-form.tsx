import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { UPSTREAM_PROTOCOLS } from '../../api/tables.ts';
import {
  createUpstream,
  presetsQuery,
  updateUpstream,
  type Upstream,
  type UpstreamPreset,
  type UpstreamSettings,
} from '../../api/upstreams.ts';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';
import { CredentialFields, credentialOf } from './credential-fields.tsx';
import { limitsOf, UpstreamLimitFields } from './upstream-limits.tsx';

interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Begins with the provider, and then asks only for what its preset does not know. */
export function NewUpstreamDialog(props: DialogProps) {
  const { upstreams } = useWords().admin;
  return (
    <FormDialog
      title={upstreams.add}
      verb={upstreams.add}
      {...props}
      act={(values) => createUpstream(newSettings(values))}
      done={({ name }) => upstreams.created(name)}
    >
      <NewUpstreamFields />
    </FormDialog>
  );
}

export function EditUpstreamDialog({ of: upstream, ...props }: DialogProps & { of: Upstream }) {
  const { admin, general } = useWords();
  const { upstreams } = admin;
  return (
    <FormDialog
      title={upstreams.edit}
      purpose={upstream.name}
      verb={general.save}
      {...props}
      act={(values) => updateUpstream(upstream.id, settingsOf(values))}
      done={() => upstreams.saved}
    >
      <NameField value={upstream.name} />
      <ProtocolField value={upstream.protocol} />
      <AddressField value={upstream.base_url} help={upstreams.baseUrlHelp} />
      <CredentialFields
        protocol={upstream.protocol}
        help={upstream.has_api_key ? upstreams.keyKept : upstreams.keyHelp}
      />
      <FurtherFields of={upstream} />
    </FormDialog>
  );
}

function NewUpstreamFields() {
  const { upstreams } = useWords().admin;
  const { data: presets } = useQuery(presetsQuery);
  const [chosen, setChosen] = useState('');
  const preset = presets?.data.find(({ name }) => name === chosen);
  return (
    <>
      <SelectField
        name="preset"
        label={upstreams.provider}
        help={preset && <SourceLink of={preset} />}
        value={chosen}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        options={[
          { value: '', label: upstreams.otherServer },
          ...(presets?.data ?? []).map(({ name, title }) => ({ value: name, label: title })),
        ]}
      />
      {preset ? <PresetFields key={preset.name} of={preset} /> : <OtherServerFields />}
      <Foldable label={upstreams.more}>
        <FurtherFields key={chosen} of={undefined} />
      </Foldable>
    </>
  );
}

function SourceLink({ of: { base_url: address, source } }: { of: UpstreamPreset }) {
  return (
    <a href={source} target="_blank" rel="noreferrer" className="foreign text-accent">
      {address}
    </a>
  );
}

function PresetFields({ of: preset }: { of: UpstreamPreset }) {
  const { upstreams } = useWords().admin;
  return (
    <>
      <NameField value={preset.name} />
      {preset.base_url.includes('{') && (
        <AddressField placeholder={preset.base_url} help={upstreams.blankHelp(preset.base_url)} />
      )}
      <CredentialFields
        protocol={preset.protocol}
        help={preset.needs_key ? upstreams.keyHelp : upstreams.keyOptional}
        isRequired={preset.needs_key}
      />
    </>
  );
}

function OtherServerFields() {
  const { upstreams } = useWords().admin;
  const [protocol, setProtocol] = useState<Upstream['protocol']>(UPSTREAM_PROTOCOLS[0]);
  return (
    <>
      <NameField />
      <ProtocolField value={protocol} onChoose={setProtocol} />
      <AddressField help={upstreams.baseUrlHelp} />
      <CredentialFields protocol={protocol} help={upstreams.keyHelp} />
    </>
  );
}

function NameField({ value }: { value?: string }) {
  const { upstreams } = useWords().admin;
  return (
    <TextField
      name="name"
      label={upstreams.name}
      defaultValue={value}
      required
      autoComplete="off"
    />
  );
}

interface ProtocolFieldProps {
  value: Upstream['protocol'];
  onChoose?: (value: Upstream['protocol']) => void;
}

function ProtocolField({ value, onChoose }: ProtocolFieldProps) {
  const { admin, tables } = useWords();
  return (
    <SelectField
      name="protocol"
      label={admin.upstreams.protocol}
      defaultValue={value}
      onChange={({ currentTarget }) => onChoose?.(protocolOf(currentTarget.value))}
      options={UPSTREAM_PROTOCOLS.map((known) => ({
        value: known,
        label: tables.providers[known],
      }))}
    />
  );
}

function AddressField(field: { value?: string; placeholder?: string; help: string }) {
  const { upstreams } = useWords().admin;
  return (
    <TextField
      name="base_url"
      label={upstreams.baseUrl}
      help={field.help}
      defaultValue={field.value}
      placeholder={field.placeholder}
      type="url"
      required
      autoComplete="off"
    />
  );
}

/** Hides fields that are rarely set; a fault of one of them opens it. */
function Foldable({ label, children }: { label: string; children: ReactNode }) {
  return (
    <details>
      <summary className="cursor-pointer rounded-sm text-text-2">{label}</summary>
      <div className="flex flex-col gap-4 pt-3">{children}</div>
    </details>
  );
}

function FurtherFields({ of: upstream }: { of: Upstream | undefined }) {
  return (
    <>
      <PassedFieldsField of={upstream} />
      <UpstreamLimitFields of={upstream} />
    </>
  );
}

/** Chooses which fields of requests reach the upstream. A new upstream gets the fields that suit its address unless its administrator chooses. */
function PassedFieldsField({ of: upstream }: { of: Upstream | undefined }) {
  const { upstreams } = useWords().admin;
  const { known, all, address } = upstreams.fieldsBy;
  return (
    <>
      <CheckField
        name="passes_file_ids"
        label={upstreams.passesFileIds}
        help={upstreams.passesFileIdsHelp}
        defaultChecked={upstream?.passes_file_ids ?? false}
      />
      <SelectField
        name="fields"
        label={upstreams.fields}
        help={upstreams.fieldsHelp}
        defaultValue={upstream?.fields ?? ''}
        options={[
          ...(upstream ? [] : [{ value: '', label: address }]),
          { value: 'known', label: known },
          { value: 'all', label: all },
        ]}
      />
    </>
  );
}

/** Returns what the fields say. What a preset knows is left to it, unless an administrator has set it. */
function newSettings({ preset = '', protocol = '', ...values }: FormValues): UpstreamSettings {
  if (preset === '') return settingsOf({ protocol, ...values });
  const given = Object.entries(settingsOf(values)).filter(([, value]) => value !== null);
  // The options of the field are the presets.
  return { name: '', ...Object.fromEntries(given), preset: preset as UpstreamPreset['name'] };
}

function settingsOf({ name = '', protocol, base_url, ...values }: FormValues): UpstreamSettings {
  const { fields } = values;
  return {
    name,
    ...(protocol !== undefined && { protocol: protocolOf(protocol) }),
    ...(base_url !== undefined && { base_url }),
    ...credentialOf(values),
    passes_file_ids: values['passes_file_ids'] === 'on',
    ...((fields === 'known' || fields === 'all') && { fields }),
    ...limitsOf(values),
  };
}

function protocolOf(value: string): Upstream['protocol'] {
  return UPSTREAM_PROTOCOLS.find((known) => known === value) ?? UPSTREAM_PROTOCOLS[0];
}
