import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import type { Config } from '../config.ts';

/**
 * Writes structured logs to stdout, without secrets whatever is logged. In a healthy node, info appears on start, stop and new snapshots; warn means
 * that an upstream or a client misbehaves; error means that an operator must look. Requests are usage rows and are not logged.
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
