import type { RestingCredential } from '@tollgate/contracts';
import type { CredentialRef } from './provider-tokens.ts';

interface CredentialState {
  readonly route_id: number;
  readonly credential_id?: number;
  readonly failures_in_row: number;
  readonly open_for_ms: number;
  readonly cooling_for_ms: number;
  readonly why: string | null;
  readonly resting_accounts: readonly number[];
}

/** Returns the credentials of one upstream that rest on some route. */
export function restingCredentials(states: readonly CredentialState[]): RestingCredential[] {
  const byId = Map.groupBy(states, (each) => each.credential_id);
  byId.delete(undefined);
  return [...byId].flatMap(([id = 0, all]) => {
    const accounts = new Set(all.flatMap((each) => each.resting_accounts));
    const open_for_ms = Math.ceil(
      Math.max(...all.map((each) => Math.max(each.open_for_ms, each.cooling_for_ms))),
    );
    if (accounts.size === 0 && open_for_ms === 0) return [];
    const why = all.find((each) => each.why !== null)?.why ?? 'rest';
    return { id, why, open_for_ms, accounts_resting: accounts.size };
  });
}

/** Adds the credentials that have no provider token. */
export function withoutToken(
  { upstream_id, credentials }: { upstream_id: number; credentials: RestingCredential[] },
  missing: readonly (CredentialRef & { open_for_ms: number })[],
): RestingCredential[] {
  const untold = missing.flatMap(({ id, credentialId, open_for_ms }) =>
    id === upstream_id && credentialId !== undefined
      ? { id: credentialId, why: 'no_token', open_for_ms, accounts_resting: 0 }
      : [],
  );
  return [...untold, ...credentials.filter(({ id }) => untold.every((each) => each.id !== id))];
}

/** Returns the failures in a row of a route; where each of several credentials fails, those of the one that failed least. */
export function failuresOf(routeId: number, states: readonly CredentialState[]): number {
  const own = states.filter((each) => each.route_id === routeId);
  const byCredential = own.filter((each) => each.credential_id !== undefined);
  const shared = own.filter((each) => each.credential_id === undefined);
  const least = Math.min(...byCredential.map((each) => each.failures_in_row));
  return Math.max(
    byCredential.length > 0 ? least : 0,
    ...shared.map((each) => each.failures_in_row),
  );
}
