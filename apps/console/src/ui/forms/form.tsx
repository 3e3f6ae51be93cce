import { Form as Base } from '@base-ui/react/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { CircleAlert } from '../icons.tsx';
import { useRef, useState, type ReactNode } from 'react';
import { failureOf, type Failure } from '../../api/failure.ts';
import { useWords } from '../../words/words.ts';
import { Button, type ButtonLook } from './button.tsx';
import { RequestId } from '../request-id.tsx';

export type FormValues = Readonly<Record<string, string>>;

export interface ActFormProps<Answer> {
  /** The verb on its button. */
  verb: string;
  look?: ButtonLook;
  act: (values: FormValues) => Promise<Answer>;
  /** Where it leads to another page, the answer is the promise of being there. */
  onDone: (answer: Answer) => void | Promise<void>;
  onCancel?: (() => void) | undefined;
  onChanged?: (() => void) | undefined;
  /** Why it cannot be sent as it is. */
  blockedBy?: string | undefined;
  children?: ReactNode;
}

/**
 * A form that acts once: sends its fields, shows the server's errors at their fields and the rest above its buttons. What it changed
 * is asked for again, whatever it was: a few small requests cost less than a figure that is out of date.
 */
export function ActForm<Answer>({
  verb,
  look = 'primary',
  act,
  onDone,
  onCancel,
  onChanged,
  blockedBy,
  children,
}: ActFormProps<Answer>) {
  const { form, send, isPending, failure, isSaid } = useSending({ act, onDone });
  return (
    <Base
      ref={form}
      className="flex flex-col gap-4"
      errors={failure?.fields ?? {}}
      onChange={onChanged}
      onSubmit={(event) => {
        event.preventDefault();
        if (isPending || blockedBy !== undefined) return;
        send(valuesOf(new FormData(event.currentTarget)));
      }}
    >
      {children}
      {failure && !isSaid && <FormFailure failure={failure} />}
      <FormButtons {...{ verb, look, isPending, blockedBy, onCancel }} />
    </Base>
  );
}

/** Sends the fields of a form. `isSaid` is true while the fields of the form show the whole failure. */
function useSending<Answer>({ act, onDone }: Pick<ActFormProps<Answer>, 'act' | 'onDone'>) {
  const queries = useQueryClient();
  const words = useWords();
  const form = useRef<HTMLFormElement>(null);
  const [isSaid, setSaid] = useState(false);
  const { mutate, isPending, error } = useMutation({
    mutationFn: act,
    onError: (fault) => setSaid(isSaidAtFields(failureOf(fault, words), form.current)),
    onSuccess: async (answer) => {
      // The page of what was deleted is left before anything is asked for again.
      await onDone(answer);
      await queries.invalidateQueries();
    },
  });
  const failure = error === null ? undefined : failureOf(error, words);
  return { form, send: mutate, isPending, failure, isSaid };
}

/** Is true when the form has a field for each fault. The field then shows the message, and nothing else repeats it. */
function isSaidAtFields({ fields }: Failure, form: HTMLFormElement | null): boolean {
  const faulty = Object.keys(fields);
  return faulty.length > 0 && faulty.every((name) => form?.elements.namedItem(name) != null);
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

function valuesOf(data: FormData): FormValues {
  return Object.fromEntries(
    [...data.entries()].flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );
}
