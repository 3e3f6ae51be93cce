import { FURTHER_ENDPOINTS } from '../../api/tables.ts';
import type { Upstream, UpstreamSettings } from '../../api/upstreams.ts';
import { TextAreaField, CheckField, SelectField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords } from '../../words/words.ts';

const TIMEOUTS = [
  { name: 'connect_timeout_ms', label: 'connect' },
  { name: 'first_token_timeout_ms', label: 'firstToken' },
  { name: 'idle_timeout_ms', label: 'idle' },
  { name: 'total_timeout_ms', label: 'total' },
] as const;
const WHOLE = { inputMode: 'numeric', pattern: '[0-9]*', autoComplete: 'off' } as const;
/** Is the choice that leaves an answer to what is known of the host. */
const BY_HOST = 'host';

/** Shows how much an upstream takes and what its provider bills. A new upstream has the defaults unless its administrator sets more. */
export function UpstreamLimitFields({ of: upstream }: { of: Upstream | undefined }) {
  const { upstreams } = useWords().admin;
  return (
    <>
      <TimeoutFields of={upstream} />
      <TextField
        name="max_concurrency"
        label={upstreams.concurrency}
        help={upstreams.concurrencyHelp}
        defaultValue={upstream?.max_concurrency ?? ''}
        {...WHOLE}
      />
      <TextAreaField
        rows={3}
        data-secret
        name="headers"
        label={upstreams.headers}
        help={upstreams.headersHelp}
        defaultValue={Object.entries(upstream?.headers ?? {})
          .map(([name, value]) => `${name}: ${value}`)
          .join('\n')}
      />
      <BillingField of={upstream} />
      <EndpointFields of={upstream} />
    </>
  );
}

function TimeoutFields({ of: upstream }: { of: Upstream | undefined }) {
  const { upstreams } = useWords().admin;
  return (
    <div className="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
      {TIMEOUTS.map(({ name, label }) => (
        <TextField
          key={name}
          name={name}
          label={upstreams[label]}
          unit="ms"
          defaultValue={upstream?.[name]}
          {...WHOLE}
        />
      ))}
    </div>
  );
}

function BillingField({ of: upstream }: { of: Upstream | undefined }) {
  const { admin, general } = useWords();
  const { upstreams } = admin;
  return (
    <SelectField
      name="stops_billing_on_close"
      label={upstreams.stopsBilling}
      help={upstreams.stopsBillingHelp}
      defaultValue={String(upstream?.stops_billing_on_close ?? BY_HOST)}
      options={[
        { value: BY_HOST, label: upstreams.byHost },
        { value: 'true', label: general.yes },
        { value: 'false', label: general.no },
      ]}
    />
  );
}

function EndpointFields({ of: upstream }: { of: Upstream | undefined }) {
  const { upstreams } = useWords().admin;
  return (
    <>
      <SelectField
        name="endpoints"
        label={upstreams.endpoints}
        help={upstreams.endpointsHelp}
        defaultValue={upstream?.endpoints ? 'chosen' : BY_HOST}
        options={[
          { value: BY_HOST, label: upstreams.byHost },
          { value: 'chosen', label: upstreams.endpointsChosen },
        ]}
      />
      <div className="grid grid-cols-2 gap-1 pl-3 max-sm:grid-cols-1">
        {FURTHER_ENDPOINTS.map((endpoint) => (
          <CheckField
            key={endpoint}
            name={`endpoint.${endpoint}`}
            label={endpoint}
            defaultChecked={(upstream?.endpoints ?? upstream?.has_endpoints)?.includes(endpoint)}
          />
        ))}
      </div>
    </>
  );
}

/** Returns what the fields say. An empty timeout stays as it is. */
export function limitsOf(values: FormValues): Partial<UpstreamSettings> {
  const timeouts = TIMEOUTS.flatMap(({ name }) =>
    values[name] ? [[name, Number(values[name])] as const] : [],
  );
  const { stops_billing_on_close: billing, endpoints } = values;
  return {
    ...Object.fromEntries(timeouts),
    max_concurrency: values['max_concurrency'] ? Number(values['max_concurrency']) : null,
    headers: headersOf(values['headers'] ?? ''),
    stops_billing_on_close: billing === 'true' ? true : billing === 'false' ? false : null,
    endpoints:
      endpoints === 'chosen'
        ? FURTHER_ENDPOINTS.filter((endpoint) => values[`endpoint.${endpoint}`] === 'on')
        : null,
  };
}

/** Reads one header a line. A line without a colon has an empty value, which the server refuses by its name. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim(), value.join(':').trim()];
    }),
  );
}
