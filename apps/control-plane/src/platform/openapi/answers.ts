import { SetMetadata, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import type { RefusalCode } from '../http/refusals.ts';

export const ANSWERS = 'tollgate:answers';

/** Holds what the API document says about a route besides its parameters and permission. */
export interface AnswersNote {
  summary: string;
  /** null means that the answer has no content. */
  schema: z.ZodType | null;
  refuses: readonly RefusalCode[];
  /** Is true when `?format=csv` returns a file. */
  isAlsoCsv: boolean;
  /** Is true for server-sent events; the schema then describes one event. */
  isStream: boolean;
}

interface AnswersOptions {
  /** Lists the codes of this route beyond those of every route of its kind. Specs fail on a code that is not listed here. */
  refuses?: readonly RefusalCode[];
  isAlsoCsv?: boolean;
}

type Answering<T> = (...parameters: never[]) => T | Promise<T>;
/** The type is generic in the method, because a property descriptor is invariant. */
type RouteDecorator<T> = <Method extends Answering<T>>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * `@Answers('List keys', pageOf(keyResponseSchema))` documents a route. The compiler checks the method's type against the schema, and specs check the
 * real answers.
 */
export function Answers<T extends z.ZodType>(
  summary: string,
  schema: T,
  { refuses = [], isAlsoCsv = false }: AnswersOptions = {},
): RouteDecorator<z.output<T> | StreamableFile> {
  return note({ summary, schema, refuses, isAlsoCsv, isStream: false });
}

/** Documents a route that answers server-sent events, each of the given schema. */
export function Streams(
  summary: string,
  schema: z.ZodType,
  { refuses = [] }: AnswersOptions = {},
): RouteDecorator<void> {
  return note({ summary, schema, refuses, isAlsoCsv: false, isStream: true });
}

/** Documents a route that answers 204. */
export function AnswersNothing(
  summary: string,
  { refuses = [] }: AnswersOptions = {},
): RouteDecorator<void> {
  return note({ summary, schema: null, refuses, isAlsoCsv: false, isStream: false });
}

function note(answers: AnswersNote): RouteDecorator<unknown> {
  return (target, key, descriptor) => void SetMetadata(ANSWERS, answers)(target, key, descriptor);
}
