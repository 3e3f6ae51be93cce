import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { presetsQuery, type Upstream, type UpstreamSettings } from '../../api/upstreams.ts';
import { SelectField, TextAreaField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';

const SECRET = { type: 'password', autoComplete: 'new-password' } as const;

interface CredentialFieldsProps {
  protocol: Upstream['protocol'];
  /** Says what an empty key means. */
  help: string;
  isRequired?: boolean;
}

/** Asks for the credential that a provider of this protocol takes. */
export function CredentialFields({ protocol, help, isRequired = false }: CredentialFieldsProps) {
  const { upstreams } = useWords().admin;
  const { data } = useQuery(presetsQuery);
  const [chosen, setChosen] = useState<Upstream['auth_type']>();
  const types = data?.data.find((preset) => preset.protocol === protocol)?.auth_types ?? [
    'api_key',
  ];
  const type = chosen !== undefined && types.includes(chosen) ? chosen : types[0];
  return (
    <>
      {types.length > 1 && (
        <SelectField
          name="auth.type"
          label={upstreams.authType}
          value={type}
          onChange={({ currentTarget }) =>
            setChosen(types.find((known) => known === currentTarget.value))
          }
          options={types.map((value) => ({ value, label: upstreams.authTypes[value] }))}
        />
      )}
      <FieldsOf type={type ?? 'api_key'} help={help} isRequired={isRequired} />
    </>
  );
}

type FieldsProps = Pick<CredentialFieldsProps, 'help'> & { isRequired: boolean };

function FieldsOf({ type, ...props }: FieldsProps & { type: Upstream['auth_type'] }) {
  switch (type) {
    case 'api_key':
      return <KeyField {...props} />;
    case 'aws':
      return <AwsFields {...props} />;
    case 'google':
      return <GoogleFields {...props} />;
    case 'azure':
      return <AzureFields {...props} />;
  }
}

function KeyField({ help, isRequired }: FieldsProps) {
  const { upstreams } = useWords().admin;
  return (
    <TextField name="api_key" label={upstreams.key} help={help} required={isRequired} {...SECRET} />
  );
}

function GoogleFields({ help, isRequired }: FieldsProps) {
  const { upstreams } = useWords().admin;
  return (
    <TextAreaField
      data-secret
      name="auth.service_account"
      label={upstreams.serviceAccount}
      help={help}
      required={isRequired}
      autoComplete="off"
      spellCheck={false}
      rows={4}
    />
  );
}

interface CredentialField {
  name: string;
  label: string;
  isSecret?: boolean;
  isOptional?: boolean;
  help?: string;
}

/** Shows one input for each part of a credential. */
function Inputs({ fields, isRequired }: { fields: CredentialField[]; isRequired: boolean }) {
  return fields.map(({ isSecret = false, isOptional = false, ...field }) => (
    <TextField
      key={field.name}
      {...field}
      required={isRequired && !isOptional}
      {...(isSecret ? SECRET : { autoComplete: 'off' })}
    />
  ));
}

function AzureFields({ help, isRequired }: FieldsProps) {
  const { upstreams } = useWords().admin;
  const fields = [
    { name: 'auth.tenant', label: upstreams.tenant },
    { name: 'auth.client_id', label: upstreams.clientId },
    { name: 'auth.client_secret', label: upstreams.clientSecret, help, isSecret: true },
  ];
  return <Inputs fields={fields} isRequired={isRequired} />;
}

function AwsFields({ help, isRequired }: FieldsProps) {
  const { upstreams } = useWords().admin;
  const fields = [
    { name: 'auth.region', label: upstreams.region },
    { name: 'auth.access_key_id', label: upstreams.accessKeyId },
    { name: 'auth.secret_access_key', label: upstreams.secretAccessKey, help, isSecret: true },
    {
      name: 'auth.session_token',
      label: upstreams.sessionToken,
      help: upstreams.sessionTokenHelp,
      isSecret: true,
      isOptional: true,
    },
  ];
  return <Inputs fields={fields} isRequired={isRequired} />;
}

/** Returns the credential that the fields give; nothing where they are empty, so that a stored one is kept. */
export function credentialOf(values: FormValues): Pick<UpstreamSettings, 'api_key' | 'auth'> {
  const {
    api_key = '',
    'auth.region': region = '',
    'auth.access_key_id': access_key_id = '',
    'auth.secret_access_key': secret_access_key = '',
    'auth.session_token': session_token = '',
    'auth.service_account': service_account = '',
    'auth.tenant': tenant = '',
    'auth.client_id': client_id = '',
    'auth.client_secret': client_secret = '',
  } = values;
  if (api_key !== '') return { api_key };
  if (service_account !== '') return { auth: { type: 'google', service_account } };
  if (tenant + client_id + client_secret !== '')
    return { auth: { type: 'azure', tenant, client_id, client_secret } };
  if (region + access_key_id + secret_access_key + session_token === '') return {};
  return {
    auth: {
      type: 'aws',
      region,
      access_key_id,
      secret_access_key,
      ...(session_token !== '' && { session_token }),
    },
  };
}
