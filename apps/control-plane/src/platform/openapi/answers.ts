import { SetMetadata, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import type { RefusalCode } from '../http/refusals.ts';

export const ANSWERS = 'tollgate:answers';

/** The API document's facts about a route, besides its parameters and permission. */
export interface AnswersNote {
  summary: string;
  /** null: no content. */
  schema: z.ZodType | null;
  refuses: readonly RefusalCode[];
  /** `?format=csv` answers a file. */
  isAlsoCsv: boolean;
  /** Server-sent events; the schema is that of one event. */
  isStream: boolean;
}

interface AnswersOptions {
  /** Codes of this route besides those every route of its kind has; specs fail on a code that is not listed here. */
  refuses?: readonly RefusalCode[];
  isAlsoCsv?: boolean;
}

type Answering<T> = (...parameters: never[]) => T | Promise<T>;
/** Generic in the method, because a property descriptor is invariant. */
type RouteDecorator<T> = <Method extends Answering<T>>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/** `@Answers('List keys', pageOf(keyResponseSchema))`. The compiler holds the method's answer against the schema, specs hold what is really sent. */
export function Answers<T extends z.ZodType>(
  summary: string,
  schema: T,
  { refuses = [], isAlsoCsv = false }: AnswersOptions = {},
): RouteDecorator<z.output<T> | StreamableFile> {
  return note({ summary, schema, refuses, isAlsoCsv, isStream: false });
}

/** For routes that answer server-sent events, each of the given schema. */
export function Streams(
  summary: string,
  schema: z.ZodType,
  { refuses = [] }: AnswersOptions = {},
): RouteDecorator<void> {
  return note({ summary, schema, refuses, isAlsoCsv: false, isStream: true });
}

/** For routes that answer 204. */
export function AnswersNothing(
  summary: string,
  { refuses = [] }: AnswersOptions = {},
): RouteDecorator<void> {
  return note({ summary, schema: null, refuses, isAlsoCsv: false, isStream: false });
}

function note(answers: AnswersNote): RouteDecorator<unknown> {
  return (target, key, descriptor) => void SetMetadata(ANSWERS, answers)(target, key, descriptor);
}
