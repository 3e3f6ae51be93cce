import { hashCredential, signFinal } from '@tollgate/contracts';
import { tracedMetering } from './traced-metering.ts';
import type { MeteringPort } from './metering-port.ts';
import type { RecorderOptions } from './recorder-options.ts';

/** Finals go through Redis with this node's MAC. In the journal they have none, because a credential may change between two starts. */
function signedMetering(
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

/** Returns the port of the settler: finals are signed, and recorded if their requests are traced. */
export function settlingPort({
  metering,
  credential,
  tracing = null,
}: RecorderOptions): Pick<MeteringPort, 'settle'> {
  return tracedMetering(signedMetering(metering, credential), tracing);
}
