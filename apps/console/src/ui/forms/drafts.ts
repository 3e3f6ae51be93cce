import { createContext } from 'react';
import { queryClient } from '../../api/query-client.ts';
import { meQuery } from '../../api/session.ts';

/** Begins the names of drafts, which stand in the tab's own storage: they survive Back, a reload and the end of the session. */
const PREFIX = 'tollgate:draft:';
/** Matches the fields that drafts leave out. */
const SECRET =
  '[type=password], [type=hidden], [type=file], [autocomplete$=password], [autocomplete=one-time-code], [data-secret]';

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
/** Holds the fields in their order: the name, and the text or the tick. */
export type Draft = readonly (readonly [name: string, value: string | boolean])[];

/** Takes from a form what gives up its draft; a dialog that closes calls it. */
export const DiscardContext = createContext<
  ((drop: (() => unknown) | undefined) => void) | undefined
>(undefined);

/** Returns the name of the draft of a form on this page; none without an account that is signed in. */
export function draftName(form: string): string | undefined {
  const me = queryClient.getQueryData(meQuery.queryKey);
  return me ? `${PREFIX}${me.id}:${window.location.pathname}:${form}` : undefined;
}

/** Keeps what a form holds. `rest` is not filled in yet and stays part of the draft. */
export function saveDraft(name: string, form: HTMLFormElement, rest: Draft): void {
  const fields = fieldsOf(form).map(([of, field]) => [of, valueOf(field)] as const);
  const names = new Set(rest.map(([of]) => of));
  keep(name, JSON.stringify([...fields.filter(([of]) => !names.has(of)), ...rest]));
}

export function readDraft(name: string): Draft {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? '[]') as Draft;
  } catch {
    return [];
  }
}

export function dropDraft(name: string): void {
  sessionStorage.removeItem(name);
}

/** Removes all drafts, which sign-out does. */
export function dropDrafts(): void {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
}

/**
 * Fills in fields in their order and returns the entries that are left: their fields, or their choices, are not there yet. A choice may
 * bring other fields in place of those that follow, so that nothing behind it is filled in before it is drawn.
 */
export function fillIn(form: HTMLFormElement, draft: Draft): Draft {
  const fields = new Map(fieldsOf(form));
  for (const [index, [name, value]] of draft.entries()) {
    const field = fields.get(name);
    if (!field || valueOf(field) === value) continue;
    if (isChoice(field) && !hasChoice(field, value)) return draft.slice(index);
    enter(field, value);
    if (isChoice(field)) return draft.slice(index + 1);
  }
  return draft.filter(([name]) => !fields.has(name));
}

const isChoice = (field: Field): field is HTMLSelectElement => field instanceof HTMLSelectElement;

function hasChoice({ options }: HTMLSelectElement, value: string | boolean): boolean {
  return [...options].some((option) => option.value === value);
}

function keep(name: string, text: string): void {
  try {
    sessionStorage.setItem(name, text);
  } catch {
    // A full or forbidden storage costs the draft, never the form.
  }
}

/** Returns the fields that a draft keeps. A name that stands several times is counted. */
function fieldsOf(form: HTMLFormElement): [name: string, field: Field][] {
  const seen = new Map<string, number>();
  return [...form.elements].flatMap((element): [string, Field][] => {
    if (!isField(element) || element.matches(SECRET)) return [];
    const own = element.name || element.dataset['draft'];
    if (!own) return [];
    const count = seen.get(own) ?? 0;
    seen.set(own, count + 1);
    return [[count === 0 ? own : `${own} ${count}`, element]];
  });
}

function isField(element: Element): element is Field {
  return ['INPUT', 'SELECT', 'TEXTAREA'].includes(element.tagName);
}

const isTicked = (field: Field): field is HTMLInputElement =>
  field instanceof HTMLInputElement && ['checkbox', 'radio'].includes(field.type);

function valueOf(field: Field): string | boolean {
  return isTicked(field) ? field.checked : field.value;
}

/** Enters a value as a person would, so that what listens to the field follows. */
function enter(field: Field, value: string | boolean): void {
  if (isTicked(field)) {
    if (field.type === 'checkbox' || value === true) field.click();
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(field);
  Reflect.set(Object(prototype), 'value', value, field);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  field.dispatchEvent(new Event('change', { bubbles: true }));
}
