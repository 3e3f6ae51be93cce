import type { Termination } from './terminate.ts';

/** Is the name under which the process that runs a checkout's stack is on record. */
export const SUPERVISOR = 'supervisor';

/** The supervisor stops apps (12 s at most), then Redis and PostgreSQL (15 s at most). */
export const SUPERVISOR_STOP: Termination = { steps: [{ signal: 'SIGTERM', graceMs: 40_000 }] };
