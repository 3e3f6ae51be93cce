import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger as Pino, type LoggerOptions } from 'pino';

/** The log never shows the values of these names, wherever they occur (security S13). */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'password',
  'password_hash',
  'current_password',
  'new_password',
  'api_key',
  'key',
  'token',
  'secret',
  'credential',
];

/** Nest logs every module and route at start, about a hundred lines without use in a healthy start. */
const BOOT_CONTEXTS = new Set<unknown>([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
  'NestApplication',
]);

export function createPino(level: string, destination?: DestinationStream): Pino {
  const options: LoggerOptions = {
    level,
    base: { service: 'control-plane' },
    // An entry is one line of JSON, so newlines and escape sequences of callers are escaped (security S48).
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: '[redacted]',
    },
    serializers: { err: serializeError },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Keeps name, message, code and stack only, because TypeORM and pg errors carry the statement's parameters, which may be secrets. */
function serializeError(error: unknown) {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const cause =
    error.cause === undefined
      ? {}
      : { cause: error.cause instanceof Error ? error.cause.message : String(error.cause) };
  return { type: error.name, message: error.message, stack: error.stack, ...code, ...cause };
}

/** Writes Nest's log entries through pino. `new Logger('context')` anywhere writes here, and `error(cause, text)` keeps the stack of the cause. */
export class StructuredLogger implements LoggerService {
  constructor(private readonly pino: Pino) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(BOOT_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest appends the logger's context as the last text. */
  private write(
    level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace',
    message: unknown,
    rest: unknown[],
  ): void {
    const texts = rest.filter((part) => typeof part === 'string');
    const context = texts.at(-1);
    const text = texts.length > 1 ? texts[0] : undefined;
    if (message instanceof Error)
      this.pino[level]({ err: message, context }, text ?? message.message);
    else if (typeof message === 'object' && message !== null)
      this.pino[level]({ ...message, context }, text);
    else this.pino[level]({ context }, String(message));
  }
}
