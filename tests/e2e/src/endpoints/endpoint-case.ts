import type { World } from './world.ts';

export interface Ask {
  /** Replaces the endpoint's own path: with the id filled in, or a query added. */
  path?: string;
  body?: unknown;
  /** Is the administrator's when absent; null means none. */
  token?: string | null;
}

export interface Scene extends Ask {
  status: number;
  /** Is matched with `toMatchObject`. */
  answer?: unknown;
}

type Setting = (world: World) => Promise<Scene> | Scene;

/** Describes how one endpoint is tried. Each object that a call changes was made for that call alone. */
export interface EndpointCase {
  /** Is `admin` where a user gets 403, and `user` where only the anonymous are kept out. Otherwise it is what the public endpoint itself refuses as 401 or 403. */
  access: 'admin' | 'user' | Setting;
  good: Setting;
  bad: Setting;
}

/** Is an id that does not exist. */
export const UNKNOWN_ID = 999_999;

/** Expects a 400 that names the fault. */
export function invalid(field: string, ask: Ask): Scene {
  return { ...ask, status: 400, answer: { code: 'invalid_request', errors: [{ field }] } };
}

export function refused(status: number, code: string, ask: Ask): Scene {
  return { ...ask, status, answer: { code } };
}

export function unknown(path: string, ask: Ask = {}): Scene {
  return refused(404, 'not_found', { ...ask, path });
}
