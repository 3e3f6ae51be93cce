import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import type { Config } from '../config.ts';

/**
 * Structured logs on stdout, without secrets whatever is logged. Levels by how often they appear in a healthy node: info on start, stop and new
 * snapshots; warn when an upstream or a client misbehaves; error when an operator must look. Requests themselves are not logged: they are usage rows.
 */
export function createLog(
  { LOG_LEVEL, NODE_NAME, NODE_WORKER }: Pick<Config, 'LOG_LEVEL' | 'NODE_NAME' | 'NODE_WORKER'>,
  destination?: DestinationStream,
): Logger {
  const options: LoggerOptions = {
    level: LOG_LEVEL,
    base: { service: 'proxy-node', node: NODE_NAME, worker: NODE_WORKER },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_PATHS, censor: '[redacted]' },
  };
  return destination ? pino(options, destination) : pino(options);
}

const SECRET_NAMES = [
  'authorization',
  'cookie',
  '["x-api-key"]',
  'api_key',
  'apiKey',
  'sealed_api_key',
  'credential',
  'password',
];
const SECRET_PATHS = SECRET_NAMES.flatMap((name) =>
  name.startsWith('[') ? [name, `*${name}`, `headers${name}`] : [name, `*.${name}`, `*.*.${name}`],
);
