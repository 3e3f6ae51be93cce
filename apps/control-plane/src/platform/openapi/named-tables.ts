import {
  CHARGED_CLASSES,
  CHARGED_ROWS,
  CLIENT_PROTOCOLS,
  FURTHER_ENDPOINTS,
  OUTCOMES,
  REQUEST_WINDOWS,
  UPSTREAM_PROTOCOLS,
  WINDOW_NAMES,
} from '@tollgate/contracts';
import { z } from 'zod';

/** The facts about each value of a named enumeration, in its order. `npm run generate` writes both into the typed client. */
export const ROWS = 'x-rows';

export const chargedClassField = z.enum(CHARGED_CLASSES).meta({
  id: 'ChargedClass',
  [ROWS]: CHARGED_ROWS.map(({ name, side, parent, isOptional }) => ({
    name,
    side,
    parent,
    is_optional: isOptional,
  })),
});
export const requestWindowField = z.enum(WINDOW_NAMES).meta({
  id: 'RequestWindow',
  [ROWS]: REQUEST_WINDOWS.map(({ name, seconds }) => ({ name, seconds })),
});
export const clientProtocolField = z.enum(CLIENT_PROTOCOLS).meta({ id: 'ClientProtocol' });
export const furtherEndpointField = z.enum(FURTHER_ENDPOINTS).meta({ id: 'FurtherEndpoint' });
export const upstreamProtocolField = z.enum(UPSTREAM_PROTOCOLS).meta({ id: 'UpstreamProtocol' });
export const outcomeField = z.enum(OUTCOMES).meta({ id: 'Outcome' });
