import {
  CHARGED_CLASSES,
  CHARGED_ROWS,
  CLIENT_PROTOCOLS,
  FURTHER_ENDPOINTS,
  OUTCOMES,
  OUTCOME_ROWS,
  KEY_LIMITS,
  LIMIT_NAMES,
  RATE_WINDOWS,
  UPSTREAM_PROTOCOLS,
  WINDOW_NAMES,
} from '@tollgate/contracts';
import { z } from 'zod';

/** Holds the facts about each value of a named enumeration, in order. `npm run generate` writes them into the typed client. */
export const ROWS = 'x-rows';

export const chargedClassField = z.enum(CHARGED_CLASSES).meta({
  id: 'ChargedClass',
  [ROWS]: CHARGED_ROWS.map(({ name, field, unit, side, parent, isOptional }) => ({
    name,
    field,
    unit,
    side,
    parent,
    is_optional: isOptional,
  })),
});
export const keyLimitField = z.enum(LIMIT_NAMES).meta({
  id: 'KeyLimit',
  [ROWS]: KEY_LIMITS.map(({ name }) => ({ name })),
});
export const rateWindowField = z.enum(WINDOW_NAMES).meta({
  id: 'RateWindow',
  [ROWS]: RATE_WINDOWS.map(({ name, seconds, counts }) => ({ name, seconds, counts })),
});
export const clientProtocolField = z.enum(CLIENT_PROTOCOLS).meta({ id: 'ClientProtocol' });
export const furtherEndpointField = z.enum(FURTHER_ENDPOINTS).meta({ id: 'FurtherEndpoint' });
export const upstreamProtocolField = z.enum(UPSTREAM_PROTOCOLS).meta({ id: 'UpstreamProtocol' });
export const outcomeField = z.enum(OUTCOMES).meta({
  id: 'Outcome',
  [ROWS]: OUTCOME_ROWS.map(({ name, isFailure }) => ({ name, is_failure: isFailure })),
});
