import { useMutation } from '@tanstack/react-query';
import { useEffect, type ReactNode } from 'react';
import { CircleAlert, CircleCheck } from '../../ui/icons.tsx';
import { UPSTREAM_PROTOCOLS } from '../../api/tables.ts';
import {
  createUpstream,
  testUpstream,
  updateUpstream,
  type ConnectionTest,
  type Upstream,
  type UpstreamSettings,
} from '../../api/upstreams.ts';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/forms/button.tsx';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/forms/field.tsx';
import { formatCount, formatDuration } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { limitsOf, UpstreamLimitFields } from './upstream-limits.tsx';

export function UpstreamDialog({
  of: upstream,
  isOpen,
  onClose,
}: {
  of?: Upstream;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { admin, general } = useWords();
  const { upstreams } = admin;
  return (
    <FormDialog
      title={upstream ? upstreams.edit : upstreams.add}
      purpose={upstream?.name}
      verb={upstream ? general.save : upstreams.add}
      isOpen={isOpen}
      onClose={onClose}
      act={({ name = '', protocol, base_url = '', api_key = '', ...passed }) => {
        const settings = {
          name,
          protocol: UPSTREAM_PROTOCOLS.find((known) => known === protocol) ?? UPSTREAM_PROTOCOLS[0],
          base_url,
          ...(api_key === '' ? {} : { api_key }),
          passes_file_ids: passed['passes_file_ids'] === 'on',
          ...passedFields(passed['fields']),
          ...limitsOf(passed),
        };
        return upstream ? updateUpstream(upstream.id, settings) : createUpstream(settings);
      }}
      done={({ name }) => (upstream ? upstreams.saved : upstreams.created(name))}
    >
      <UpstreamFields of={upstream} />
    </FormDialog>
  );
}

/** None for a new upstream that gets what suits its address. */
function passedFields(chosen: string | undefined): Pick<UpstreamSettings, 'fields'> {
  if (chosen !== 'known' && chosen !== 'all') return {};
  return { fields: chosen };
}

function UpstreamFields({ of: upstream }: { of: Upstream | undefined }) {
  const { admin, tables } = useWords();
  const { upstreams } = admin;
  return (
    <>
      <TextField
        name="name"
        label={upstreams.name}
        defaultValue={upstream?.name}
        required
        autoComplete="off"
      />
      <SelectField
        name="protocol"
        label={upstreams.protocol}
        defaultValue={upstream?.protocol ?? UPSTREAM_PROTOCOLS[0]}
        options={UPSTREAM_PROTOCOLS.map((value) => ({ value, label: tables.providers[value] }))}
      />
      <TextField
        name="base_url"
        label={upstreams.baseUrl}
        help={upstreams.baseUrlHelp}
        defaultValue={upstream?.base_url}
        type="url"
        required
        autoComplete="off"
      />
      <UpstreamKeyField of={upstream} />
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

function UpstreamKeyField({ of: upstream }: { of: Upstream | undefined }) {
  const { upstreams } = useWords().admin;
  return (
    <TextField
      name="api_key"
      label={upstreams.key}
      help={upstream?.has_api_key ? upstreams.keyKept : upstreams.keyHelp}
      type="password"
      autoComplete="new-password"
    />
  );
}

/** Another key for the same provider; nodes use it from the next configuration on. */
export function UpstreamKeyDialog({
  of: upstream,
  isOpen,
  onClose,
}: {
  of: Upstream;
  isOpen: boolean;
  onClose: () => void;
}) {
  const { admin } = useWords();
  const { upstreams } = admin;
  return (
    <FormDialog
      title={upstreams.rotateKey}
      purpose={upstream.name}
      verb={upstreams.rotateKey}
      isOpen={isOpen}
      onClose={onClose}
      act={({ api_key = '' }) => updateUpstream(upstream.id, { api_key })}
      done={() => upstreams.saved}
    >
      <TextField
        name="api_key"
        label={upstreams.key}
        help={upstreams.keyHelp}
        type="password"
        required
        autoComplete="new-password"
      />
    </FormDialog>
  );
}

interface TestDialogProps {
  of: Upstream;
  /** Opening it is the test, of the model of its first route. */
  startsAtOnce?: boolean;
  isOpen: boolean;
  onClose: () => void;
}

export function TestDialog({
  of: upstream,
  startsAtOnce = false,
  isOpen,
  onClose,
}: TestDialogProps) {
  const { upstreams } = useWords().admin;
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: (model: string) => testUpstream(upstream.id, model),
  });
  useEffect(() => {
    if (startsAtOnce && isOpen) mutate('');
  }, [startsAtOnce, isOpen, mutate]);
  return (
    <Dialog title={upstreams.test} purpose={upstream.name} isOpen={isOpen} onClose={onClose}>
      {() => (
        <TestForm isPending={isPending} onTest={mutate}>
          <TestOutcome data={data} error={error} />
        </TestForm>
      )}
    </Dialog>
  );
}

interface TestFormProps {
  isPending: boolean;
  onTest: (model: string) => void;
  children: ReactNode;
}

function TestForm({ isPending, onTest, children }: TestFormProps) {
  const { upstreams } = useWords().admin;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onTest(String(new FormData(event.currentTarget).get('model') ?? ''));
      }}
    >
      <p className="text-text-2">{upstreams.testText}</p>
      <TextField
        name="model"
        label={upstreams.testModel}
        help={upstreams.testModelHelp}
        autoComplete="off"
      />
      {children}
      <div className="flex justify-end">
        <Button type="submit" look="primary" isBusy={isPending}>
          {upstreams.test}
        </Button>
      </div>
    </form>
  );
}

interface TestOutcomeProps {
  data: ConnectionTest | undefined;
  error: Error | null;
}

function TestOutcome({ data, error }: TestOutcomeProps) {
  const words = useWords();
  const failure = error === null ? undefined : failureOf(error, words);
  return (
    <div role="status">
      {data && <TestResult of={data} />}
      {failure && <p className="foreign text-bad">{failure.detail ?? failure.title}</p>}
    </div>
  );
}

function TestResult({ of: result }: { of: ConnectionTest }) {
  const { words, locale } = useSpeech();
  const { upstreams } = words.admin;
  const took = formatDuration(result.duration_ms, locale);
  const tokens = (count: number | null): string =>
    count === null ? '–' : formatCount(count, locale);
  return (
    <div className="flex gap-2 rounded-md bg-sunken px-3 py-2 text-table">
      {result.ok ? (
        <CircleCheck aria-hidden className="mt-px size-4 shrink-0 text-good" />
      ) : (
        <CircleAlert aria-hidden className="mt-px size-4 shrink-0 text-bad" />
      )}
      <div className="foreign min-w-0">
        <p className="font-medium">{result.ok ? upstreams.testOk(took) : upstreams.testFailed}</p>
        <p className="text-text-2">
          {result.error
            ? result.error.message
            : upstreams.testTokens(tokens(result.input_tokens), tokens(result.output_tokens))}
        </p>
      </div>
    </div>
  );
}
