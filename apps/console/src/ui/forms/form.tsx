import { Form as Base } from '@base-ui/react/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CircleAlert } from '../icons.tsx';
import { Fragment, useRef, useState, type ReactNode, type RefObject } from 'react';
import { flushSync } from 'react-dom';
import { failureOf, type Failure } from '../../api/failure.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { Button, type ButtonLook } from './button.tsx';
import { plainDecimal } from './decimals.ts';
import { namesOf } from './fault-names.ts';
import { useDraft } from './use-draft.ts';
import { RequestId } from '../request-id.tsx';

export type FormValues = Readonly<Record<string, string>>;

export interface ActFormProps<Answer> {
  /** Names the form among those of its page: what is entered and not sent is there again when the form is opened again. Secrets are not. */
  draft?: string | undefined;
  /** Is the verb on its button. */
  verb: string;
  look?: ButtonLook;
  act: (values: FormValues) => Promise<Answer>;
  /** If it leads to another page, its promise ends when that page is open. */
  onDone: (answer: Answer) => void | Promise<void>;
  onCancel?: (() => void) | undefined;
  onChanged?: (() => void) | undefined;
  /** Says why the form cannot be sent as it is. */
  blockedBy?: string | undefined;
  children?: ReactNode;
}

/**
 * Is a form that acts once: it sends its fields, shows the server's errors at their fields and the rest above its buttons. What it changed
 * is asked for again, whatever it was: a few small requests cost less than a figure that is out of date.
 */
export function ActForm<Answer>(props: ActFormProps<Answer>) {
  const { verb, look = 'primary', act, onDone, onCancel, onChanged, blockedBy, children } = props;
  const { locale } = useSpeech();
  const form = useRef<HTMLFormElement>(null);
  const kept = useDraft(form, props.draft);
  const { send, forget, isPending, failure, fields, isSaid } = useSending({
    form,
    act,
    onDone: (answer: Answer) => {
      kept.drop();
      return onDone(answer);
    },
  });
  return (
    <Base
      ref={form}
      className="flex flex-col gap-4"
      errors={fields}
      onChange={() => {
        kept.save();
        onChanged?.();
      }}
      // A field that the server refused keeps its form from being sent until it is changed; what was wrong may be right by now.
      onSubmitCapture={() => flushSync(forget)}
      onSubmit={(event) => {
        event.preventDefault();
        if (isPending || blockedBy !== undefined) return;
        send(valuesOf(event.currentTarget, locale));
      }}
    >
      {kept.isRestored && <Restored onStartOver={kept.startOver} />}
      <Fragment key={kept.round}>{children}</Fragment>
      {failure && !isSaid && <FormFailure failure={failure} />}
      <FormButtons {...{ verb, look, isPending, blockedBy, onCancel }} />
    </Base>
  );
}

/** Sends the fields of a form. `faults`: what is wrong with its fields; `isSaid` is true while they show the whole failure. */
function useSending<Answer>({
  form,
  act,
  onDone,
}: Pick<ActFormProps<Answer>, 'act' | 'onDone'> & { form: RefObject<HTMLFormElement | null> }) {
  const queries = useQueryClient();
  const words = useWords();
  const [refused, setRefused] = useState<{ error: Error; faults: Faults }>();
  const { mutate, isPending } = useMutation({
    mutationFn: act,
    onError: (error) =>
      setRefused({ error, faults: faultsAt(failureOf(error, words), form.current) }),
    onSuccess: async (answer) => {
      // The page of what was deleted is left before anything is asked for again.
      await onDone(answer);
      await queries.invalidateQueries();
    },
  });
  return {
    send: mutate,
    forget: () => setRefused(undefined),
    isPending,
    failure: refused && failureOf(refused.error, words),
    ...(refused?.faults ?? NO_FAULTS),
  };
}

interface Faults {
  readonly fields: Readonly<Record<string, string>>;
  /** The form has a field for each fault, which shows the message, and nothing else repeats it. */
  readonly isSaid: boolean;
}

const NO_FAULTS: Faults = { fields: {}, isSaid: false };

/** Returns the faults by the fields of the form, and opens what hides such a field. A fault inside a value (`headers.x-team`) belongs to the field of that value, or to one of its own (`price.weight_input`). */
function faultsAt({ fields }: Failure, form: HTMLFormElement | null): Faults {
  const placed = Object.entries(fields).map(
    ([path, message]) => [fieldOf(path, form), message] as const,
  );
  for (const [field] of placed) field?.closest('details')?.setAttribute('open', '');
  return {
    fields: Object.fromEntries(
      placed.flatMap(([field, message]) =>
        field ? [[field.getAttribute('name') ?? '', message]] : [],
      ),
    ),
    isSaid: placed.length > 0 && placed.every(([field]) => field !== undefined),
  };
}

function fieldOf(path: string, form: HTMLFormElement | null): Element | undefined {
  const found = namesOf(path)
    .map((name) => form?.elements.namedItem(name))
    .find((item) => item != null);
  return found instanceof RadioNodeList
    ? [...found].find((node) => node instanceof Element)
    : found;
}

interface FormButtonsProps {
  verb: string;
  look: ButtonLook;
  isPending: boolean;
  blockedBy: string | undefined;
  onCancel: (() => void) | undefined;
}

function FormButtons({ verb, look, isPending, blockedBy, onCancel }: FormButtonsProps) {
  const { general } = useWords();
  return (
    <div data-actions className="flex flex-row-reverse justify-start gap-2">
      <Button type="submit" look={look} isBusy={isPending} blockedBy={blockedBy}>
        {verb}
      </Button>
      {onCancel && <Button onClick={onCancel}>{general.cancel}</Button>}
    </div>
  );
}

function FormFailure({ failure }: { failure: Failure }) {
  return (
    <div role="alert" className="flex gap-2 rounded-md bg-bad-soft px-3 py-2 text-table">
      <CircleAlert aria-hidden className="mt-px size-4 shrink-0 text-bad" />
      <div className="foreign min-w-0">
        <p className="font-medium text-bad">{failure.title}</p>
        {failure.detail !== undefined && <p className="text-text-2">{failure.detail}</p>}
        {failure.requestId !== undefined && <RequestId id={failure.requestId} />}
      </div>
    </div>
  );
}

/** Says that a draft is back. */
function Restored({ onStartOver }: { onStartOver: () => void }) {
  const { general } = useWords();
  return (
    <p role="status" className="flex flex-wrap items-center gap-2 text-table text-text-2">
      {general.restored}
      <Button size="small" look="quiet" onClick={onStartOver}>
        {general.startOver}
      </Button>
    </p>
  );
}

/** Returns the texts of a form's fields, decimals in the spelling of the interface. */
export function valuesOf(form: HTMLFormElement, locale: string): FormValues {
  const isDecimal = (name: string): boolean =>
    Object(form.elements.namedItem(name)).inputMode === 'decimal';
  return Object.fromEntries(
    [...new FormData(form).entries()].flatMap(([name, value]) =>
      typeof value === 'string'
        ? [[name, isDecimal(name) ? plainDecimal(value, locale) : value]]
        : [],
    ),
  );
}
