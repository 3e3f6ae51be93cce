import { hashCredential } from '@tollgate/contracts';
import type { Config } from '../../config.ts';

/** Returns the hashes of the fleet's credentials, which a node without its own may present; there are two during a rotation. */
export function fleetCredentialHashes(
  config: Pick<Config, 'FLEET_CREDENTIAL' | 'FLEET_CREDENTIAL_NEXT'>,
): readonly string[] {
  return [config.FLEET_CREDENTIAL, config.FLEET_CREDENTIAL_NEXT].flatMap((credential) =>
    credential === undefined ? [] : hashCredential(credential),
  );
}

/**
 * Selects the hashes of a row's own credentials: the current one, and earlier ones while they are accepted. An empty array means that the node has
 * none of its own.
 */
export const OWN_CREDENTIALS = `array_remove(credential_hash || CASE WHEN former_credentials_until > now() THEN former_credential_hashes ELSE '{}' END, NULL)`;

/** Returns the hashes that a node may present; those of the fleet where it has none of its own. */
export function acceptedHashes(
  own: readonly string[],
  fleet: readonly string[],
): readonly string[] {
  return own.length > 0 ? own : fleet;
}
