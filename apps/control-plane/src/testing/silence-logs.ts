import { Logger } from '@nestjs/common';

/** For runs in which thousands of failures are meant. */
export function silenceLogs(): void {
  Logger.overrideLogger(false);
}
