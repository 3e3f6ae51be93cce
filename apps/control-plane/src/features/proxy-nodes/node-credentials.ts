import { hashCredential } from '@tollgate/contracts';
import type { Config } from '../../config.ts';

/** Hashes of what a node without a credential of its own may present: two while the fleet's is changed. */
export function fleetCredentialHashes(
  config: Pick<Config, 'FLEET_CREDENTIAL' | 'FLEET_CREDENTIAL_NEXT'>,
): readonly string[] {
  return [config.FLEET_CREDENTIAL, config.FLEET_CREDENTIAL_NEXT].flatMap((credential) =>
    credential === undefined ? [] : hashCredential(credential),
  );
}

/** The hashes of a row's own credentials: the current one, and those before it while they are still accepted. Empty: it has none of its own. */
export const OWN_CREDENTIALS = `array_remove(credential_hash || CASE WHEN former_credentials_until > now() THEN former_credential_hashes ELSE '{}' END, NULL)`;

/** Those of the fleet where the node has none of its own. */
export function acceptedHashes(
  own: readonly string[],
  fleet: readonly string[],
): readonly string[] {
  return own.length > 0 ? own : fleet;
}
