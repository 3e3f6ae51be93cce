import { Injectable, Logger } from '@nestjs/common';
import type { ReadEvent } from './read-event.ts';

const EVERY_MS = 60_000;
/** The writer of an event chooses the names; a hostile writer must not fill the memory or the log. */
const NAMES_MAX = 100;
const NAME_CHARS_MAX = 64;

/** Counts telemetry that was dropped from events whose charge was still booked, and logs the counts at most once a minute. */
@Injectable()
export class DroppedTelemetry {
  private readonly logger = new Logger('usage-telemetry');
  private readonly counts = new Map<string, number>();
  private loggedAtMs = Number.NEGATIVE_INFINITY;

  note(reads: readonly Pick<ReadEvent, 'unreadable' | 'unknown'>[]): void {
    for (const { unreadable, unknown } of reads)
      for (const name of [...unreadable, ...unknown]) this.count(name.slice(0, NAME_CHARS_MAX));
    if (this.counts.size === 0 || performance.now() - this.loggedAtMs < EVERY_MS) return;
    this.loggedAtMs = performance.now();
    this.logger.warn(
      { fields: Object.fromEntries(this.counts) },
      'fields of usage events were dropped; their charges are booked',
    );
    this.counts.clear();
  }

  private count(name: string): void {
    if (this.counts.has(name) || this.counts.size < NAMES_MAX)
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}
