import { isRecord, nonEmpty } from '../json/json-guard.ts';

/** Names a place in a value of /v1/responses that names a container in which the provider runs code. */
export interface NamedContainer {
  path: readonly string[];
  id: string;
}

/** Names the members that contain the caller's own text, and figures. */
const PASSED_OVER: ReadonlySet<string> = new Set(['parameters', 'schema', 'format', 'logprobs']);
/** An annotation in a part of an item of a response of an event is seven levels deep. */
const DEPTH_MAX = 9;

/**
 * Finds at any depth `container_id` of calls, their environments and citations, and `container` of tools where it is an id and not the description of
 * a new one.
 */
export function containersIn(value: unknown, path: readonly string[] = []): NamedContainer[] {
  if (path.length > DEPTH_MAX) return [];
  if (Array.isArray(value))
    return value.flatMap((item: unknown, at) => containersIn(item, [...path, String(at)]));
  if (!isRecord(value)) return [];
  const isTool = path.at(-2) === 'tools';
  return Object.entries(value).flatMap(([name, inner]) => {
    if (PASSED_OVER.has(name)) return [];
    const isNamed = name === 'container_id' || (isTool && name === 'container');
    const id = isNamed ? nonEmpty(inner) : null;
    return id === null ? containersIn(inner, [...path, name]) : [{ path: [...path, name], id }];
  });
}
