import { useMutation } from '@tanstack/react-query';
import { useEffect, type ReactNode } from 'react';
import { CircleAlert, CircleCheck } from '../../ui/icons.tsx';
import {
  testUpstream,
  updateUpstream,
  type ConnectionTest,
  type Upstream,
} from '../../api/upstreams.ts';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/forms/button.tsx';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { formatCount, formatDuration } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { CredentialFields, credentialOf } from './credential-fields.tsx';

/** Sets another credential for the same provider; nodes use it from the next configuration on. */
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
      act={(values) => updateUpstream(upstream.id, credentialOf(values))}
      done={() => upstreams.saved}
    >
      <CredentialFields protocol={upstream.protocol} help={upstreams.keyHelp} isRequired />
    </FormDialog>
  );
}

interface TestDialogProps {
  of: Pick<Upstream, 'id' | 'name'>;
  /** Without an id the test uses the own credential, else the first further one that is enabled. */
  credentialId?: number;
  /** Opening it is the test, of the model of its first route. */
  startsAtOnce?: boolean;
  isOpen: boolean;
  onClose: () => void;
}

export function TestDialog({
  of: upstream,
  credentialId,
  startsAtOnce = false,
  isOpen,
  onClose,
}: TestDialogProps) {
  const { upstreams } = useWords().admin;
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: (model: string) => testUpstream(upstream.id, model, credentialId),
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
        {result.error && <p className="text-text-2">{result.error.message}</p>}
        {result.ok && result.model !== null && (
          <p className="text-text-2">
            {upstreams.testTokens(tokens(result.input_tokens), tokens(result.output_tokens))}
          </p>
        )}
        {result.models && <ListedModels names={result.models} />}
      </div>
    </div>
  );
}

/** Shows the names that a route to this upstream may take. */
function ListedModels({ names }: { names: readonly string[] }) {
  const { words, locale } = useSpeech();
  const { upstreams } = words.admin;
  return (
    <details>
      <summary className="cursor-pointer rounded-sm text-text-2">
        {upstreams.testModels(formatCount(names.length, locale))}
      </summary>
      <ul className="max-h-60 overflow-y-auto pt-1">
        {names.map((name) => (
          <li key={name}>
            <code className="break-all">{name}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}
