import { hashCredential, signFinal } from '@tollgate/contracts';
import type { MeteringPort } from './metering-port.ts';

/** Finals go through Redis with this node's MAC. In the journal they stand without one: a credential may be changed between two starts. */
export function signedMetering(
  metering: Pick<MeteringPort, 'settle'>,
  credential: string | undefined,
): Pick<MeteringPort, 'settle'> {
  if (credential === undefined) return metering;
  const credentialHash = hashCredential(credential);
  return {
    settle: (request) =>
      metering.settle({ ...request, payload: signFinal(request, credentialHash) }),
  };
}
