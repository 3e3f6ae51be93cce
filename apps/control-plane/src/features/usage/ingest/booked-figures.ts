import { Injectable } from '@nestjs/common';
import { readTraceparent } from '@tollgate/contracts';
import { exemplarOf, Metrics } from '../../../platform/metrics/metrics.ts';
import type { ReadEvent } from './read-event.ts';

const LAG_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 86_400];

/** Counts the events that this process booked, and the time from each request's end to its booking. */
@Injectable()
export class BookedFigures {
  private readonly events = this.metrics.counter({
    name: 'tollgate_usage_events_booked_total',
    help: 'Usage events booked by this process.',
    labelNames: ['kind'],
  });
  private readonly tokens = this.metrics.counter({
    name: 'tollgate_charged_tokens_booked_total',
    help: 'Charged tokens of the requests booked by this process.',
  });
  private readonly lag = this.metrics.histogram({
    name: 'tollgate_settlement_lag_seconds',
    help: 'From the end of a request at its node to its booking in PostgreSQL.',
    buckets: LAG_SECONDS,
  });

  constructor(private readonly metrics: Metrics) {}

  note(booked: readonly ReadEvent[]): void {
    const now = Date.now();
    const kinds = new Map<string, number>();
    let charged = 0;
    for (const { event } of booked) {
      kinds.set(event.payload.kind, (kinds.get(event.payload.kind) ?? 0) + 1);
      if (event.payload.kind !== 'usage') continue;
      charged += event.payload.charge;
      const endedAtMs = event.payload.started_at + event.payload.duration_ms;
      this.lag.observe({
        labels: {},
        // Clocks of processes differ slightly, so a lag may come out negative.
        value: Math.max(0, now - endedAtMs) / 1000,
        exemplarLabels: exemplarOf(event.rid, readTraceparent(event.payload.traceparent)),
      });
    }
    for (const [kind, events] of kinds) this.events.inc({ kind }, events);
    this.tokens.inc(charged);
  }
}
