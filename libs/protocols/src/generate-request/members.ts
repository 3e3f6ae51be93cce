import { unsupportedHere } from '../errors/unsupported.ts';
import { InvalidRequest } from '../exchange.ts';
import { isRecord, type JsonRecord } from '../json/json-guard.ts';
import type { Members } from './fields.ts';

/** Collects the members that only Gemini has. */
export type NativeMembers = string[];

/** Names members that refer to what is stored, or choose another model: none may reach a provider's account that all customers share. */
const NEVER: Readonly<Record<string, string>> = {
  cachedContent: "caches of the provider's account are shared by all its customers",
  fileData: "files of the provider's account are shared by all its customers; send inlineData",
  routingConfig: 'the model is the one of the path',
  modelSelectionConfig: 'the model is the one of the path',
};

/** `system_instruction` -> `systemInstruction`: the interface takes both (https://protobuf.dev/programming-guides/json). */
function camelOf(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the spelling by which an object has a member; null where it has none. */
export function spellingOf(object: JsonRecord, member: string): string | null {
  return Object.keys(object).find((name) => camelOf(name) === member) ?? null;
}

/** Reads an object whose members are known. It throws `InvalidRequest` for a member that is not known, one that is given twice, and a value that is no object. */
export function membersOf(
  value: unknown,
  known: Members,
  { param, native }: { param: string; native: NativeMembers },
): JsonRecord {
  if (!isRecord(value)) throw new InvalidRequest(`${param}: Expected an object`, { param });
  const read: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) {
    if (item === null || item === undefined) continue;
    const member = camelOf(name);
    const here = inside(param, name);
    const fate = Object.hasOwn(known, member) ? known[member] : undefined;
    if (fate === undefined)
      throw unsupportedHere(here, here, NEVER[member] ?? 'no field of this name is known');
    if (Object.hasOwn(read, member))
      throw new InvalidRequest(`The field "${here}" is given more than once.`, {
        param: here,
        code: 'duplicate_field',
      });
    if (fate === 'native') native.push(here);
    read[member] = item;
  }
  return read;
}

/** Returns the path of a member: `generationConfig.topP`, or `contents` at the top. */
export function inside(param: string, name: string): string {
  return param === '' ? name : `${param}.${name}`;
}
